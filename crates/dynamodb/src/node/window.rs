//! How many draws are under way at once: fewer after each that got no answer in time, more again while they do.
//!
//! A table that is slow because too much is asked of it gets no faster by being asked for more: calls that time out are made
//! again, and all that were answered late were made in vain.

/// However many went wrong.
const LEAST: usize = 4;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    size: usize,
    most: usize,
    /// Draws that were answered since it last grew.
    answered: usize,
    /// Draws that were begun before it shrank, and tell nothing new.
    stale: usize,
}

impl Window {
    pub(crate) fn new(most: usize) -> Window {
        Window { size: most.max(1), most: most.max(1), answered: 0, stale: 0 }
    }

    /// How many may be under way.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// A draw was answered.
    pub(crate) fn answered(&mut self) {
        self.stale = self.stale.saturating_sub(1);
        self.answered += 1;
        if self.answered >= self.size && self.size < self.most {
            (self.size, self.answered) = (self.size + 1, 0);
        }
    }

    /// A draw was not, while so many others are under way.
    pub(crate) fn unanswered(&mut self, running: usize) {
        if self.stale > 0 {
            self.stale -= 1;
            return;
        }
        let least = LEAST.min(self.most);
        (self.size, self.answered, self.stale) = ((self.size / 2).max(least), 0, running);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_once_for_all_that_were_under_way_and_grows_one_by_one() {
        let mut window = Window::new(48);
        (0..40).for_each(|running| window.unanswered(39 - running));
        assert_eq!(window.size(), 24);
        (0..24).for_each(|_| window.answered());
        assert_eq!(window.size(), 25);
        (0..10).for_each(|_| window.unanswered(0));
        assert_eq!(window.size(), LEAST);
        (0..2000).for_each(|_| window.answered());
        assert_eq!(window.size(), 48);
        let mut one = Window::new(1);
        one.unanswered(0);
        assert_eq!(one.size(), 1);
    }
}
