//! Which key a call names: numbers drawn without allocation, some nanoseconds each.

/// How key numbers are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Each as likely as any other.
    Uniform,
    /// Number k - 1 with a probability in proportion to 1 / k^exponent: few keys get most of the calls.
    Zipf(f64),
    /// One after the other, and again from 0.
    Sequence,
}

/// The exponent of a bare `zipf`: what is often measured of caches.
const ZIPF_EXPONENT: f64 = 0.99;
/// Above this nearly all draws are the first key.
const ZIPF_EXPONENT_MAX: f64 = 10.0;

impl Draw {
    /// Reads the name of a draw.
    ///
    /// # Errors
    /// What it takes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let error =
            || format!("uniform, sequence, zipf, or zipf:EXPONENT, above 0 to {ZIPF_EXPONENT_MAX}");
        match text {
            "uniform" => Ok(Self::Uniform),
            "sequence" => Ok(Self::Sequence),
            "zipf" => Ok(Self::Zipf(ZIPF_EXPONENT)),
            _ => {
                let exponent = text
                    .strip_prefix("zipf:")
                    .and_then(|text| text.parse().ok());
                exponent
                    .filter(|exponent| *exponent > 0.0 && *exponent <= ZIPF_EXPONENT_MAX)
                    .map(Self::Zipf)
                    .ok_or_else(error)
            }
        }
    }
}

impl std::fmt::Display for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            Self::Sequence => f.write_str("sequence"),
        }
    }
}

/// Random numbers, not for secrets: SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(u64);

impl Random {
    /// A stream of numbers of its own for each seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 up to 1, 1 itself left out.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The key numbers of one thread.
pub struct Keys {
    count: u64,
    random: Random,
    kind: Kind,
}

enum Kind {
    Uniform,
    Zipf(Zipf),
    Sequence { next: u64, step: u64 },
}

impl Keys {
    /// Draws below `count` for thread `thread` of `threads`, which step through a sequence together.
    pub fn new(draw: Draw, count: u64, seed: u64, thread: u64, threads: u64) -> Self {
        let kind = match draw {
            Draw::Uniform => Kind::Uniform,
            Draw::Zipf(exponent) => Kind::Zipf(Zipf::new(count, exponent)),
            Draw::Sequence => Kind::Sequence {
                next: thread,
                step: threads,
            },
        };
        // Far apart: a thread's stream does not run into the next one's.
        let random = Random::new(seed.wrapping_add(thread.wrapping_mul(0xd134_2543_de82_ef95)));
        Self {
            count,
            random,
            kind,
        }
    }

    /// The next key's number, below the count.
    pub fn next(&mut self) -> u64 {
        match &mut self.kind {
            Kind::Uniform => self.random.below(self.count),
            Kind::Zipf(zipf) => zipf.draw(&mut self.random) - 1,
            Kind::Sequence { next, step } => {
                let number = *next % self.count;
                *next += *step;
                number
            }
        }
    }

    /// Random numbers for other ends.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}

/// Zipf's distribution by rejection-inversion: "Rejection-inversion to generate variates from monotone discrete
/// distributions", W. Hörmann and G. Derflinger, 1996. No table, whatever the number of keys.
struct Zipf {
    count: f64,
    exponent: f64,
    /// The integral of the hat, where the draws begin and end.
    first: f64,
    last: f64,
    /// A draw so near above its integer is always taken.
    sure: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self {
            count: count as f64,
            exponent,
            first: 0.0,
            last: 0.0,
            sure: 0.0,
        };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of the density from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest.abs() < 1e-9 {
            x.ln()
        } else {
            (x.powf(rest) - 1.0) / rest
        }
    }

    fn inverse(&self, area: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest.abs() < 1e-9 {
            area.exp()
        } else {
            (1.0 + area * rest).powf(1.0 / rest)
        }
    }

    /// A number from 1 to the count.
    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.last + random.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let k = x.round().clamp(1.0, self.count);
            if k - x <= self.sure || area >= self.integral(k + 0.5) - self.density(k) {
                return k as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_says_what_it_takes() {
        for text in ["uniform", "sequence", "zipf:0.5", "zipf:1"] {
            assert_eq!(Draw::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Draw::parse("zipf").unwrap(), Draw::Zipf(0.99));
        for text in ["", "zipf:", "zipf:0", "zipf:-1", "zipf:nan", "zipf:11", "z"] {
            assert!(Draw::parse(text).unwrap_err().contains("uniform"), "{text}");
        }
    }

    #[test]
    fn a_sequence_names_every_key_once_whatever_the_threads() {
        let mut seen = vec![0; 10];
        for thread in 0..4 {
            let mut keys = Keys::new(Draw::Sequence, 10, 1, thread, 4);
            // 12 calls: each of the four threads makes three.
            for _ in 0..3 {
                seen[keys.next() as usize] += 1;
            }
        }
        assert_eq!(seen, [2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn uniform_draws_are_even() {
        let mut keys = Keys::new(Draw::Uniform, 10, 7, 0, 1);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[keys.next() as usize] += 1;
        }
        assert!(
            seen.iter().all(|count| (9_500..10_500).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn zipf_draws_follow_their_law() {
        for exponent in [0.5, 0.99, 1.0, 2.0] {
            let (count, draws) = (50, 200_000);
            let weights: Vec<f64> = (1..=count).map(|k| f64::from(k).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            let mut keys = Keys::new(Draw::Zipf(exponent), u64::from(count as u32), 3, 0, 1);
            let mut seen = vec![0.0; 50];
            for _ in 0..draws {
                seen[keys.next() as usize] += 1.0;
            }
            for (count, weight) in seen.iter().zip(&weights) {
                let expected = f64::from(draws) * weight / total;
                // Six standard deviations: the seed is fixed, so this fails only if the law is wrong.
                let off: f64 = count - expected;
                assert!(
                    off.abs() < 6.0 * expected.sqrt() + 1.0,
                    "{exponent}: {count} for {expected}"
                );
            }
        }
    }
}
