//! The least vertex cover of a small graph, exactly, by branch and bound.
//!
//! Method: take away what is certain (a vertex without neighbours stays out; the neighbour of a leaf goes in; of a
//! triangle with a free corner the other two go in), solve parts that hang together separately, and branch on a vertex
//! of highest degree: it goes in, or all its neighbours do. A branch is cut when what it has chosen, and one less than
//! the size of each of the cliques that the rest is divided into, is no better than the best found.
//!
//! Guaranteed: the least cover, for up to [`SIZE_MAX`] vertices: a set of vertices is one machine word.

use alloc::vec;
use alloc::vec::Vec;

pub const SIZE_MAX: usize = 64;

/// A set of vertices, one bit each.
pub type Set = u64;

pub struct Small {
    adjacent: Vec<Set>,
}

impl Small {
    /// # Panics
    /// If there are more than [`SIZE_MAX`] vertices, or an edge names another vertex.
    pub fn new(size: usize, edges: &[(usize, usize)]) -> Small {
        assert!(size <= SIZE_MAX, "{size} vertices");
        let mut adjacent = vec![0; size];
        for &(a, b) in edges {
            adjacent[a] |= 1 << b;
            adjacent[b] |= 1 << a;
        }
        Small { adjacent }
    }

    pub fn all(&self) -> Set {
        if self.adjacent.len() == SIZE_MAX { Set::MAX } else { (1 << self.adjacent.len()) - 1 }
    }

    pub fn neighbours(&self, vertex: usize) -> Set {
        self.adjacent[vertex]
    }

    /// A least set that covers all edges between the vertices of `within`.
    pub fn least_cover(&self, within: Set) -> Set {
        let mut search = Search { graph: self, best: within };
        search.go(within, 0);
        search.best
    }

    /// The vertices that hang together with one of `within`, in `within`.
    fn part(&self, within: Set) -> Set {
        let mut part = within & within.wrapping_neg();
        let mut edge = part;
        while edge != 0 {
            let mut reached = 0;
            for vertex in members(edge) {
                reached |= self.adjacent[vertex];
            }
            edge = reached & within & !part;
            part |= edge;
        }
        part
    }

    /// How many vertices any cover of `within` has at least: all but one of each clique.
    fn bound(&self, within: Set) -> u32 {
        let (mut rest, mut least) = (within, 0);
        while rest != 0 {
            let vertex = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let mut could_join = self.adjacent[vertex] & rest;
            while could_join != 0 {
                let joins = could_join.trailing_zeros() as usize;
                rest &= !(1 << joins);
                could_join &= self.adjacent[joins];
                least += 1;
            }
        }
        least
    }
}

fn members(mut set: Set) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let member = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            member
        })
    })
}

struct Search<'a> {
    graph: &'a Small,
    best: Set,
}

impl Search<'_> {
    /// Improves on `best` by covers of `open` together with `chosen`.
    fn go(&mut self, mut open: Set, mut chosen: Set) {
        self.take_away(&mut open, &mut chosen);
        if chosen.count_ones() + self.graph.bound(open) >= self.best.count_ones() {
            return;
        }
        if open == 0 {
            self.best = chosen;
            return;
        }
        let part = self.graph.part(open);
        if part != open {
            let cover = self.graph.least_cover(part);
            return self.go(open & !part, chosen | cover);
        }
        let degree = |vertex: &usize| (self.graph.adjacent[*vertex] & open).count_ones();
        let Some(vertex) = members(open).max_by_key(degree) else { return };
        let neighbours = self.graph.adjacent[vertex] & open;
        self.go(open & !(1 << vertex), chosen | 1 << vertex);
        self.go(open & !neighbours & !(1 << vertex), chosen | neighbours);
    }

    /// Decides what is certain: some least cover of `open` has it so.
    fn take_away(&self, open: &mut Set, chosen: &mut Set) {
        loop {
            let before = *open;
            for vertex in members(before) {
                let neighbours = self.graph.adjacent[vertex] & *open;
                let certain = match neighbours.count_ones() {
                    0 | 1 => true,
                    2 => self.graph.adjacent[neighbours.trailing_zeros() as usize] & neighbours != 0,
                    _ => false,
                };
                if certain && *open >> vertex & 1 == 1 {
                    *chosen |= neighbours;
                    *open &= !(neighbours | 1 << vertex);
                }
            }
            if *open == before {
                return;
            }
        }
    }
}
