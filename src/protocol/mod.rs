//! The wire: requests in, replies out. Knows nothing of limits or keys.
