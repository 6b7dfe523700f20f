//! The grammar of the `RL.` verbs: `key <limit> [max_wait] [COST n] [AND key <limit> [COST n]]... [options]`.

use super::arguments::{AMOUNT, Cursor};
use super::error::Error;
use super::limits::{LIMIT, Term, limit};
use super::spec::{Argument, ArgumentKind};
use crate::core::joint::Ask;
use crate::core::leases::LeasesLimit;
use crate::core::limit::Limit;
use crate::core::number;
use crate::core::units::{SECOND, Span};
use crate::protocol::Arguments;
use crate::store::{Policies, PolicyLimits};
use smallvec::SmallVec;

/// Most rules in one call: what one provider's credential, account, model and recipient limits come to
/// several times over, and few enough to lock together.
pub const RULES_MAX: usize = 16;
/// Longest `ID`, in bytes.
pub const ID_BYTES_MAX: usize = 64;
/// Longest name of a `GROUP`, in bytes.
pub const GROUP_BYTES_MAX: usize = 64;
/// The last `PRIORITY`.
pub const PRIORITY_MAX: u64 = 9;
/// The priority of who names none.
pub const PRIORITY_UNLESS_GIVEN: u8 = 5;
/// How long a ticket is known after its slot unless it says otherwise: 10 minutes.
pub const TICKET_TTL: Span = match Span::from_ns(600 * SECOND) {
    Some(span) => span,
    None => Span::MAX,
};

/// One rule of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule<'a> {
    /// The key it counts on.
    pub key: &'a [u8],
    /// The limit, or those of a policy.
    pub limits: PolicyLimits,
    /// The name of the policy that the limits are of.
    pub policy: Option<&'a [u8]>,
    /// Permits asked for, 1 to 10^12, one a limit.
    pub costs: SmallVec<[u64; 1]>,
}

impl Rule<'_> {
    /// What it asks of its key.
    pub fn ask(&self) -> Ask<'_> {
        Ask {
            limits: &self.limits,
            under_policy: self.policy.is_some(),
            costs: &self.costs,
        }
    }
}

/// A call of one of the verbs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// Its rules, on distinct keys; at least one.
    pub rules: SmallVec<[Rule<'a>; 1]>,
    /// How long it would wait, for the verbs that say so.
    pub max_wait: Span,
    /// The limit of leases among its limits, of which there is at most one: a grant takes a lease.
    pub leases: Option<LeasesLimit>,
    /// What else it asks for.
    pub options: Options<'a>,
}

/// What stands behind the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options<'a> {
    /// The reply is a map.
    pub info: bool,
    /// A ticket is wanted, known for so long after its slot.
    pub ticket: Option<Span>,
    /// What makes the request safe to send again.
    pub id: Option<&'a [u8]>,
    /// Who goes first of those who wait: 0 to 9.
    pub priority: u8,
    /// With whom it takes turns, of those who wait.
    pub group: &'a [u8],
    /// It is let go whatever is decided.
    pub shadow: bool,
}

/// What the verbs differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grammar {
    /// `max_wait` stands behind the first limit.
    pub waits: bool,
    /// `TICKET` and `ID` may stand behind the rules.
    pub spends: bool,
    /// `PRIORITY` and `GROUP` may stand behind the rules.
    pub queues: bool,
    /// `SHADOW` may stand behind the rules.
    pub shadows: bool,
}

/// `RL.RESERVE`.
pub const RESERVE: Grammar = Grammar {
    waits: true,
    spends: true,
    queues: false,
    shadows: false,
};
/// `RL.ACQUIRE`.
pub const ACQUIRE: Grammar = Grammar {
    queues: true,
    ..RESERVE
};
/// `RL.TAKE`.
pub const TAKE: Grammar = Grammar {
    waits: false,
    spends: true,
    queues: false,
    shadows: true,
};
/// `RL.PEEK`.
pub const PEEK: Grammar = Grammar {
    waits: false,
    spends: false,
    queues: false,
    shadows: false,
};

impl<'a> Call<'a> {
    /// Reads a whole request.
    ///
    /// # Errors
    /// Names the argument that is wrong and what it takes.
    pub fn parse(
        arguments: Arguments<'a>,
        grammar: Grammar,
        policies: &Policies,
    ) -> Result<Self, Error> {
        let mut cursor = Cursor::new(arguments);
        let mut rules: SmallVec<[Rule<'a>; 1]> = SmallVec::new();
        let (key, term) = (cursor.key()?, limit(&mut cursor)?);
        let max_wait = match grammar.waits {
            true => cursor.duration_or_zero("max_wait")?,
            false => Span::ZERO,
        };
        rules.push(rule(key, term, &mut cursor, policies)?);
        while cursor.keyword("AND") {
            if rules.len() == RULES_MAX {
                return Err(Error::TooManyRules);
            }
            let (key, term) = (cursor.key()?, limit(&mut cursor)?);
            if rules.iter().any(|rule| rule.key == key) {
                return Err(Error::SameKey);
            }
            rules.push(rule(key, term, &mut cursor, policies)?);
        }
        let options = Options::parse(&mut cursor, grammar)?;
        cursor.finish()?;
        let leases = leases(&rules)?;
        Ok(Self {
            rules,
            max_wait,
            leases,
            options,
        })
    }

    /// What `max_wait` takes if one of its limits cannot be booked ahead.
    pub fn unbookable(&self) -> Option<&'static str> {
        let mut limits = self.rules.iter().flat_map(|rule| &rule.limits);
        limits.find_map(|limit| match limit {
            Limit::Sliding(_) => Some("0 with SLIDING, which cannot be booked ahead"),
            Limit::Leases(_) => Some("0 with LEASES, which cannot be booked ahead"),
            _ => None,
        })
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            info: false,
            ticket: None,
            id: None,
            priority: PRIORITY_UNLESS_GIVEN,
            group: b"",
            shadow: false,
        }
    }
}

impl<'a> Options<'a> {
    fn parse(cursor: &mut Cursor<'a>, grammar: Grammar) -> Result<Self, Error> {
        let mut options = Self::default();
        let (mut ticket, mut id, mut priority, mut group) = (false, false, false, false);
        loop {
            if cursor.option("INFO", &mut options.info)? {
                continue;
            }
            if grammar.shadows && cursor.option("SHADOW", &mut options.shadow)? {
                continue;
            }
            if grammar.spends && cursor.option("TICKET", &mut ticket)? {
                options.ticket = Some(ticket_ttl(cursor)?);
            } else if grammar.spends && cursor.option("ID", &mut id)? {
                options.id = Some(id_text(cursor)?);
            } else if grammar.queues && cursor.option("PRIORITY", &mut priority)? {
                options.priority = priority_number(cursor)?;
            } else if grammar.queues && cursor.option("GROUP", &mut group)? {
                options.group = group_name(cursor)?;
            } else {
                return Ok(options);
            }
        }
    }
}

/// The limit of leases among those of the rules.
fn leases(rules: &[Rule<'_>]) -> Result<Option<LeasesLimit>, Error> {
    let mut found = None;
    let limits = rules
        .iter()
        .flat_map(|rule| rule.limits.iter().zip(&rule.costs));
    for (limit, &cost) in limits {
        let Limit::Leases(leases) = limit else {
            continue;
        };
        if cost != 1 {
            return Err(Error::argument(
                "cost",
                "1 for LEASES (a list gives each limit of a policy its own: 1,4000)",
            ));
        }
        if found.replace(*leases).is_some() {
            return Err(Error::argument(
                "LEASES",
                "in one rule at most, since a call takes one lease",
            ));
        }
    }
    Ok(found)
}

/// The ttl behind TICKET, if one stands there: no option begins with a digit.
fn ticket_ttl(cursor: &mut Cursor<'_>) -> Result<Span, Error> {
    if cursor
        .peek()
        .is_some_and(|word| word.first().is_some_and(u8::is_ascii_digit))
    {
        cursor.duration("ttl")
    } else {
        Ok(TICKET_TTL)
    }
}

fn priority_number(cursor: &mut Cursor<'_>) -> Result<u8, Error> {
    cursor.value("PRIORITY", "an integer from 0 (first) to 9", |text| {
        let number = number::integer(text).filter(|&number| number <= PRIORITY_MAX)?;
        u8::try_from(number).ok()
    })
}

fn group_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Error> {
    cursor.value("GROUP", "1 to 64 bytes long", |name| {
        (1..=GROUP_BYTES_MAX).contains(&name.len()).then_some(name)
    })
}

/// Takes the text of an `ID`.
pub fn id_text<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Error> {
    const TAKES: &str = "1 to 64 bytes long";
    cursor.value("ID", TAKES, |text| {
        (1..=ID_BYTES_MAX).contains(&text.len()).then_some(text)
    })
}

/// Takes `[ID text]` and checks that nothing is left.
pub fn optional_id<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Error> {
    let id = if cursor.keyword("ID") {
        Some(id_text(cursor)?)
    } else {
        None
    };
    cursor.finish()?;
    Ok(id)
}

fn rule<'a>(
    key: &'a [u8],
    term: Term<'a>,
    cursor: &mut Cursor<'a>,
    policies: &Policies,
) -> Result<Rule<'a>, Error> {
    let (limits, policy) = resolve(term, policies)?;
    let costs = costs(cursor, limits.len())?;
    Ok(Rule {
        key,
        limits,
        policy,
        costs,
    })
}

/// The limits that a term stands for, and the policy that they are of.
pub fn resolve<'a>(
    term: Term<'a>,
    policies: &Policies,
) -> Result<(PolicyLimits, Option<&'a [u8]>), Error> {
    match term {
        Term::Plain(limit) => Ok((PolicyLimits::from_elem(limit, 1), None)),
        Term::Policy(name) => {
            let limits = policies.limits(name).ok_or(Error::argument(
                "POLICY",
                "the name of a policy (RL.POLICY LIST)",
            ))?;
            Ok((limits, Some(name)))
        }
    }
}

fn costs(cursor: &mut Cursor<'_>, limits: usize) -> Result<SmallVec<[u64; 1]>, Error> {
    if cursor.keyword("COST") {
        cost_list(cursor, "cost", limits, number::amount)
    } else {
        Ok(SmallVec::from_elem(1, limits))
    }
}

/// Takes one number for all limits, or a list with one for each of them: `1,4000`.
pub fn cost_list(
    cursor: &mut Cursor<'_>,
    name: &'static str,
    limits: usize,
    read: impl Fn(&[u8]) -> Option<u64>,
) -> Result<SmallVec<[u64; 1]>, Error> {
    let text = cursor.take(name)?;
    let takes = if limits == 1 {
        AMOUNT
    } else {
        "integers from 1 to 1000000000000: one, or one for each limit (1,4000)"
    };
    let listed: Option<SmallVec<[u64; 1]>> = text.split(|&byte| byte == b',').map(read).collect();
    match listed {
        Some(costs) if costs.len() == limits => Ok(costs),
        Some(costs) if costs.len() == 1 => Ok(SmallVec::from_elem(costs[0], limits)),
        _ => Err(Error::argument(name, takes)),
    }
}

/// Where the keys of a call are: the first argument, and one behind each AND that the grammar finds.
fn keys(arguments: Arguments<'_>, grammar: Grammar) -> Vec<usize> {
    let mut cursor = Cursor::new(arguments);
    let mut positions = Vec::new();
    // As far as the request can be read; one that cannot is refused whole when it runs.
    let _ = (|| -> Result<(), Error> {
        loop {
            positions.push(cursor.index());
            cursor.key()?;
            limit(&mut cursor)?;
            if positions.len() == 1 && grammar.waits {
                cursor.duration_or_zero("max_wait")?;
            }
            if cursor.keyword("COST") {
                cursor.take("cost")?;
            }
            if !cursor.keyword("AND") || cursor.peek().is_none() {
                return Ok(());
            }
        }
    })();
    positions
}

/// [`keys`] of a verb with `max_wait`.
pub fn keys_of_waiting(arguments: Arguments<'_>) -> Vec<usize> {
    keys(arguments, RESERVE)
}

/// [`keys`] of a verb without.
pub fn keys_of_immediate(arguments: Arguments<'_>) -> Vec<usize> {
    keys(arguments, TAKE)
}

/// `max_wait`, for the documentation.
pub const MAX_WAIT: Argument = Argument::string("max_wait");
/// `[COST n]`, for the documentation.
pub const COST: Argument = Argument::integer("cost").token("COST").optional();
/// `[AND …]`, for the documentation.
pub const MORE_RULES: Argument = Argument::new(
    "rule",
    ArgumentKind::Block(&[Argument::key("key"), LIMIT, COST]),
)
.token("AND")
.optional()
.multiple();
/// `[SHADOW]`, for the documentation.
pub const SHADOW: Argument = Argument::flag("shadow", "SHADOW");
/// `[INFO]`, for the documentation.
pub const INFO: Argument = Argument::flag("info", "INFO");
/// `[TICKET [ttl]]`, for the documentation.
pub const TICKET: Argument = Argument::new(
    "ticket",
    ArgumentKind::Block(&[Argument::string("ttl").optional()]),
)
.token("TICKET")
.optional();
/// `[PRIORITY p]`, for the documentation.
pub const PRIORITY: Argument = Argument::integer("priority").token("PRIORITY").optional();
/// `[GROUP name]`, for the documentation.
pub const GROUP: Argument = Argument::string("name").token("GROUP").optional();
/// `[ID text]`, for the documentation.
pub const ID: Argument = Argument::string("text").token("ID").optional();
