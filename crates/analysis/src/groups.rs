//! Strongly connected components of a graph (Tarjan, 1972): which nodes lie on circles together.
//!
//! Without recursion: a chain of locks may be longer than the stack.

/// For each node, the number of the component that it shares with others; none if it lies on no circle with another.
pub fn groups(edges: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut walk = Walk {
        index: vec![usize::MAX; edges.len()],
        low: vec![0; edges.len()],
        waiting: vec![false; edges.len()],
        stack: Vec::new(),
        groups: vec![None; edges.len()],
        next: 0,
    };
    for root in 0..edges.len() {
        if walk.index[root] == usize::MAX {
            walk.from(root, edges);
        }
    }
    walk.groups
}

struct Walk {
    /// In which order the nodes were met.
    index: Vec<usize>,
    /// The earliest node that can be reached from each.
    low: Vec<usize>,
    /// Whether its component is not complete.
    waiting: Vec<bool>,
    stack: Vec<usize>,
    groups: Vec<Option<usize>>,
    next: usize,
}

impl Walk {
    fn from(&mut self, root: usize, edges: &[Vec<usize>]) {
        let mut calls = vec![(root, 0)];
        self.meet(root);
        while let Some((node, done)) = calls.last_mut() {
            let node = *node;
            if let Some(&to) = edges[node].get(*done) {
                *done += 1;
                if self.index[to] == usize::MAX {
                    self.meet(to);
                    calls.push((to, 0));
                } else if self.waiting[to] {
                    self.low[node] = self.low[node].min(self.index[to]);
                }
                continue;
            }
            calls.pop();
            if let Some((parent, _)) = calls.last() {
                self.low[*parent] = self.low[*parent].min(self.low[node]);
            }
            if self.low[node] == self.index[node] {
                self.complete(node);
            }
        }
    }

    fn meet(&mut self, node: usize) {
        (self.index[node], self.low[node], self.waiting[node]) = (self.next, self.next, true);
        self.next += 1;
        self.stack.push(node);
    }

    /// All that was met since `node` is one component with it.
    fn complete(&mut self, node: usize) {
        let from = self.stack.iter().rposition(|met| *met == node).unwrap_or(0);
        let members = self.stack.split_off(from);
        for member in &members {
            self.waiting[*member] = false;
            self.groups[*member] = (members.len() > 1).then_some(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_told_from_chains() {
        let edges = [vec![1], vec![2, 4], vec![0, 3], vec![], vec![5], vec![4], vec![6]];
        let groups = groups(&edges);
        assert_eq!(groups[0], groups[1]);
        assert_eq!(groups[0], groups[2]);
        assert!(groups[0].is_some());
        assert_eq!(groups[3], None);
        assert_eq!((groups[4], groups[4] != groups[0]), (groups[5], true));
        assert_eq!(groups[6], None, "a circle needs two");
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let many = 1_000_000;
        let mut edges: Vec<Vec<usize>> = (1..=many).map(|to| vec![to]).collect();
        edges.push(vec![]);
        assert!(groups(&edges).iter().all(Option::is_none));
        edges[many] = vec![0];
        assert!(groups(&edges).iter().all(Option::is_some));
    }
}
