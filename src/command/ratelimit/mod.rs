//! Limits: Tollgate's own commands, one file each, and the dialects of others.

pub mod acquire;
pub mod charge;
pub mod dialects;
pub mod leases;
pub mod lines;
pub mod pause;
pub mod peek;
pub mod policy;
pub mod refund;
pub mod reserve;
pub mod resume;
pub mod take;
pub mod tickets;
pub mod top;
pub mod usage;
