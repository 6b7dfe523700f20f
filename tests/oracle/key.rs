//! The oracle: what one key does, its pauses included.

use crate::exact::{Bucket, Q, Rule, TooLarge, at_least_zero};
use num_traits::Zero;

#[derive(Clone, Debug)]
struct Pause {
    end: Q,
    /// Until when a bucket that begins begins drained; `None` if one was there to be drained, or KEEP.
    mark_until: Option<Q>,
}

/// One key.
#[derive(Clone, Debug, Default)]
pub struct Key {
    bucket: Option<Bucket>,
    pause: Option<Pause>,
}

impl Key {
    /// Drops what cannot be told from what never existed.
    fn forget(&mut self, now: &Q) {
        let end = self.pause_end();
        if let Some(bucket) = &self.bucket
            && bucket.reset_after(now, &end).is_zero()
        {
            self.bucket = None;
        }
        if let Some(pause) = &self.pause
            && pause.mark_until.as_ref().unwrap_or(&pause.end) <= now
        {
            self.pause = None;
        }
    }

    /// When the last pause ends or ended.
    pub fn pause_end(&self) -> Q {
        self.pause
            .as_ref()
            .map_or(Q::zero(), |pause| pause.end.clone())
    }

    /// The bucket in force, `None` for a key that holds none.
    pub fn bucket(&self) -> Option<&Bucket> {
        self.bucket.as_ref()
    }

    /// The time until the key can no longer be told from one that never existed.
    pub fn forgotten_after(&mut self, now: &Q) -> Q {
        self.forget(now);
        let end = self.pause_end();
        let bucket = self
            .bucket
            .as_ref()
            .map_or(Q::zero(), |bucket| bucket.reset_after(now, &end));
        let pause = self.pause.as_ref().map_or(Q::zero(), |pause| {
            pause.mark_until.as_ref().unwrap_or(&pause.end) - now
        });
        bucket.max(pause)
    }

    pub fn exists(&mut self, now: &Q) -> bool {
        self.forget(now);
        self.bucket.is_some() || self.pause.is_some()
    }

    /// The bucket as a call with these parameters sees it.
    pub fn seen(&mut self, rule: &Rule, now: &Q) -> Result<Bucket, TooLarge> {
        self.forget(now);
        if let Some(bucket) = &self.bucket {
            return bucket.under(rule, now);
        }
        let mut bucket = Bucket::full(rule, now);
        if let Some(pause) = &self.pause
            && pause.mark_until.is_some()
        {
            bucket.drain(&pause.end);
        }
        Ok(bucket)
    }

    /// Charges the cost at its slot, whatever is there.
    pub fn charge(&mut self, rule: &Rule, cost: &Q, now: &Q) -> Result<(), TooLarge> {
        let mut bucket = self.seen(rule, now)?;
        bucket.charge(cost, now, &self.pause_end())?;
        self.bucket = Some(bucket);
        if let Some(pause) = &mut self.pause {
            pause.mark_until = None;
        }
        Ok(())
    }

    pub fn refund(&mut self, cost: &Q, now: &Q) -> Q {
        self.forget(now);
        let end = self.pause_end();
        self.bucket
            .as_mut()
            .map_or(Q::zero(), |bucket| bucket.refund(cost, now, &end))
    }

    /// What is left of the pause then in force.
    pub fn pause(&mut self, span: &Q, keep: bool, force: bool, now: &Q) -> Q {
        self.forget(now);
        let end = now + span;
        if force && end < self.pause_end() {
            self.resume(now);
            self.forget(now);
        }
        let running_until = self.pause_end();
        if running_until <= *now
            && let Some(bucket) = &mut self.bucket
        {
            bucket.undrained = None;
        }
        if end > running_until {
            let mut mark_until = (!keep).then(|| &end + span);
            if let (false, Some(bucket)) = (keep, &mut self.bucket) {
                bucket.drain(&end);
                mark_until = None;
            }
            self.pause = Some(Pause { end, mark_until });
        }
        at_least_zero(self.pause_end() - now)
    }

    /// Ends a pause; false if none runs.
    pub fn resume(&mut self, now: &Q) -> bool {
        self.forget(now);
        let Some(pause) = self.pause.take_if(|pause| pause.end > *now) else {
            return false;
        };
        // A mark that no bucket has taken up moves along.
        self.pause = pause.mark_until.map(|until| Pause {
            end: now.clone(),
            mark_until: Some(now + until - pause.end),
        });
        if let Some(bucket) = &mut self.bucket {
            bucket.resume(now);
        }
        true
    }
}
