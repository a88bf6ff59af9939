//! A vertex cover of a graph of any size: exact where its hard parts are small, else near, with a proven lower bound.
//!
//! Certain vertices are decided first (a vertex without neighbours stays out, the neighbour of a leaf goes in), again and
//! again. What is left falls into parts. A part of up to [`cover::SIZE_MAX`] vertices is solved exactly. In a larger one
//! some vertices of highest degree go in, and it is tried again with what is left: that is not certain. Its lower bound
//! is the sum of the exact covers of disjoint pieces of it.
//!
//! Guaranteed: `chosen` covers every edge, no cover is smaller than `bound`, and both are equal if no part was larger
//! than [`cover::SIZE_MAX`].

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;

use crate::cover::{SIZE_MAX, Small};

/// Of a part that is too large, one in so many vertices is chosen before it is looked whether it has fallen apart.
const AT_ONCE: usize = 64;

pub struct Graph {
    adjacent: Vec<Vec<usize>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// In rising order.
    pub chosen: Vec<usize>,
    /// No cover has fewer vertices.
    pub bound: usize,
}

impl Graph {
    pub fn new(size: usize, edges: impl Iterator<Item = (usize, usize)>) -> Graph {
        let mut adjacent = vec![Vec::new(); size];
        for (a, b) in edges {
            adjacent[a].push(b);
            adjacent[b].push(a);
        }
        for neighbours in &mut adjacent {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
        Graph { adjacent }
    }

    pub fn cover(&self) -> Cover {
        let mut work = Work::new(self);
        work.decide_leaves((0..self.adjacent.len()).collect());
        let mut bound = work.chosen.iter().filter(|chosen| **chosen).count();
        let mut parts = work.parts(0..self.adjacent.len());
        bound += parts.iter().map(|part| self.bound(part)).sum::<usize>();
        while let Some(part) = parts.pop() {
            if part.len() <= SIZE_MAX {
                let small = self.small(&part);
                let least = small.least_cover(small.all());
                for (i, vertex) in part.iter().enumerate() {
                    if least >> i & 1 == 1 { work.choose(*vertex) } else { work.open[*vertex] = false }
                }
            } else {
                work.choose_some(&part);
                parts.extend(work.parts(part.into_iter()));
            }
        }
        work.drop_needless();
        let chosen = (0..self.adjacent.len()).filter(|vertex| work.chosen[*vertex]).collect();
        Cover { chosen, bound }
    }

    /// At least so many vertices cover the edges within a part: pieces of it are covered exactly.
    fn bound(&self, part: &[usize]) -> usize {
        let exact = |piece: &[usize]| {
            let small = self.small(piece);
            small.least_cover(small.all()).count_ones() as usize
        };
        part.chunks(SIZE_MAX).map(exact).sum()
    }

    /// The graph between some vertices, which are in rising order.
    fn small(&self, vertices: &[usize]) -> Small {
        let mut edges = Vec::new();
        for (i, vertex) in vertices.iter().enumerate() {
            let later = self.adjacent[*vertex].iter().filter_map(|other| vertices.binary_search(other).ok());
            edges.extend(later.filter(|j| *j > i).map(|j| (i, j)));
        }
        Small::new(vertices.len(), &edges)
    }
}

struct Work<'a> {
    graph: &'a Graph,
    /// Not yet decided.
    open: Vec<bool>,
    chosen: Vec<bool>,
    /// How many neighbours are open.
    degree: Vec<usize>,
    /// In which search for parts a vertex was last seen.
    seen: Vec<usize>,
    searches: usize,
}

impl Work<'_> {
    fn new(graph: &Graph) -> Work<'_> {
        let size = graph.adjacent.len();
        let degree = graph.adjacent.iter().map(Vec::len).collect();
        Work { graph, open: vec![true; size], chosen: vec![false; size], degree, seen: vec![0; size], searches: 0 }
    }

    fn choose(&mut self, vertex: usize) {
        self.chosen[vertex] = true;
        self.close(vertex);
    }

    fn close(&mut self, vertex: usize) {
        self.open[vertex] = false;
        for neighbour in &self.graph.adjacent[vertex] {
            self.degree[*neighbour] -= 1;
        }
    }

    /// Decides vertices with one open neighbour or none, beginning with the candidates.
    fn decide_leaves(&mut self, mut candidates: Vec<usize>) {
        let graph = self.graph;
        while let Some(vertex) = candidates.pop() {
            if !self.open[vertex] || self.degree[vertex] > 1 {
                continue;
            }
            let neighbour = graph.adjacent[vertex].iter().copied().find(|neighbour| self.open[*neighbour]);
            self.close(vertex);
            if let Some(neighbour) = neighbour {
                self.choose(neighbour);
                candidates.extend(&graph.adjacent[neighbour]);
            }
        }
    }

    /// Chooses a few of the highest degree in the part, and what follows from that.
    fn choose_some(&mut self, part: &[usize]) {
        let mut by_degree: BinaryHeap<(usize, usize)> = part.iter().map(|v| (self.degree[*v], *v)).collect();
        let mut wanted = part.len() / AT_ONCE + 1;
        while wanted > 0
            && let Some((degree, vertex)) = by_degree.pop()
        {
            if self.open[vertex] && degree > self.degree[vertex] {
                by_degree.push((self.degree[vertex], vertex));
            } else if self.open[vertex] {
                self.choose(vertex);
                self.decide_leaves(self.graph.adjacent[vertex].clone());
                wanted -= 1;
            }
        }
    }

    /// The open ones of the vertices, in groups that hang together, each in rising order.
    fn parts(&mut self, vertices: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
        self.searches += 1;
        let mut parts = Vec::new();
        for start in vertices {
            if !self.open[start] || self.seen[start] == self.searches {
                continue;
            }
            self.seen[start] = self.searches;
            let (mut part, mut looked) = (vec![start], 0);
            while let Some(vertex) = part.get(looked).copied() {
                looked += 1;
                for &neighbour in &self.graph.adjacent[vertex] {
                    if self.open[neighbour] && self.seen[neighbour] != self.searches {
                        self.seen[neighbour] = self.searches;
                        part.push(neighbour);
                    }
                }
            }
            part.sort_unstable();
            parts.push(part);
        }
        parts
    }

    /// Takes out what is not needed: all its neighbours are in.
    fn drop_needless(&mut self) {
        for vertex in 0..self.chosen.len() {
            if self.chosen[vertex] && self.graph.adjacent[vertex].iter().all(|neighbour| self.chosen[*neighbour]) {
                self.chosen[vertex] = false;
            }
        }
    }
}
