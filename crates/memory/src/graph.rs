//! Cycles in directed graphs: the one question that every axiom comes down to.
//!
//! Time and memory are linear in nodes and edges, nothing recurses (a trace may have
//! millions of events), and a graph can be reset and reused without allocating.

use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// A directed graph over the nodes `0..n`, kept as one list of edges per node.
///
/// ```
/// use fencepost_memory::graph::Digraph;
/// let mut graph = Digraph::default();
/// graph.reset(3);
/// graph.add_edge(0, 1);
/// graph.add_edge(1, 2);
/// assert!(graph.is_acyclic());
/// graph.add_edge(2, 1);
/// assert_eq!(graph.find_cycle().map(|cycle| cycle.len()), Some(2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Digraph {
    /// The newest edge of each node.
    first_edge: Vec<u32>,
    /// The target of each edge, and the next older edge of the same node.
    edges: Vec<(u32, u32)>,
    in_degree: Vec<u32>,
    /// In-degrees as [`is_acyclic`](Self::is_acyclic) left them: positive on and after cycles.
    remaining: Vec<u32>,
    ready: Vec<u32>,
}

impl Digraph {
    /// Makes this the graph of `nodes` nodes without edges.
    ///
    /// # Panics
    /// If there are `u32::MAX` nodes or more.
    pub fn reset(&mut self, nodes: usize) {
        assert!(
            nodes < NONE as usize,
            "a graph has less than 2^32 - 1 nodes"
        );
        self.first_edge.clear();
        self.first_edge.resize(nodes, NONE);
        self.in_degree.clear();
        self.in_degree.resize(nodes, 0);
        self.edges.clear();
    }

    /// The number of nodes.
    pub fn node_count(&self) -> usize {
        self.first_edge.len()
    }

    /// Adds a node.
    ///
    /// # Panics
    /// If there are `u32::MAX - 1` nodes already.
    pub fn add_node(&mut self) -> usize {
        let node = self.first_edge.len();
        assert!(
            node + 1 < NONE as usize,
            "a graph has less than 2^32 - 1 nodes"
        );
        self.first_edge.push(NONE);
        self.in_degree.push(0);
        node
    }

    /// Adds an edge; an edge may be added twice.
    ///
    /// # Panics
    /// If a node does not exist, or there are `u32::MAX` edges already.
    #[inline]
    pub fn add_edge(&mut self, from: usize, to: usize) {
        let edge = self.edges.len();
        assert!(edge < NONE as usize, "a graph has less than 2^32 - 1 edges");
        self.in_degree[to] += 1;
        self.edges.push((to as u32, self.first_edge[from]));
        self.first_edge[from] = edge as u32;
    }

    /// Whether there is no cycle (Kahn's algorithm: take away nodes without incoming
    /// edges until none is left).
    pub fn is_acyclic(&mut self) -> bool {
        self.remaining.clone_from(&self.in_degree);
        self.ready.clear();
        let sources = (0..self.node_count() as u32).filter(|&n| self.in_degree[n as usize] == 0);
        self.ready.extend(sources);
        let mut taken = 0;
        while let Some(node) = self.ready.pop() {
            taken += 1;
            let mut edge = self.first_edge[node as usize];
            while edge != NONE {
                let (to, older) = self.edges[edge as usize];
                let remaining = &mut self.remaining[to as usize];
                *remaining -= 1;
                if *remaining == 0 {
                    self.ready.push(to);
                }
                edge = older;
            }
        }
        taken == self.node_count()
    }

    /// The nodes along a cycle, if there is one: a shortest among the cycles through
    /// the first of them. The last node has an edge to the first.
    pub fn find_cycle(&mut self) -> Option<Vec<usize>> {
        if self.is_acyclic() {
            return None;
        }
        let nodes = self.node_count();
        // Every node that is left has a predecessor that is left, so walking
        // backwards must come to a node twice.
        let mut predecessor = vec![NONE; nodes];
        for node in (0..nodes).filter(|&node| self.remaining[node] > 0) {
            for to in self.successors(node) {
                predecessor[to] = node as u32;
            }
        }
        let mut seen = vec![false; nodes];
        let mut node = self.remaining.iter().position(|&degree| degree > 0)?;
        while !seen[node] {
            seen[node] = true;
            node = predecessor[node] as usize;
        }
        Some(self.shortest_cycle_through(node))
    }

    /// Breadth-first from `start`, which lies on a cycle, until an edge leads back.
    fn shortest_cycle_through(&self, start: usize) -> Vec<usize> {
        let mut reached_from = vec![NONE; self.node_count()];
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for to in self.successors(node) {
                if to == start {
                    let mut cycle = vec![node];
                    while *cycle.last().unwrap_or(&start) != start {
                        cycle.push(reached_from[cycle[cycle.len() - 1]] as usize);
                    }
                    cycle.reverse();
                    return cycle;
                }
                if reached_from[to] == NONE {
                    reached_from[to] = node as u32;
                    queue.push_back(to);
                }
            }
        }
        unreachable!("the node lies on a cycle")
    }

    fn successors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let mut edge = self.first_edge[node];
        std::iter::from_fn(move || {
            let &(to, older) = self.edges.get(edge as usize)?;
            edge = older;
            Some(to as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn cycles_are_found_exactly_when_a_node_reaches_itself() {
        let mut random = Random::new(11);
        let mut graph = Digraph::default();
        let mut cyclic = 0;
        for _ in 0..2_000 {
            let nodes = 1 + random.below(8) as usize;
            graph.reset(nodes);
            let mut reaches = vec![vec![false; nodes]; nodes];
            for _ in 0..random.below(12) {
                let from = random.below(nodes as u64) as usize;
                let to = random.below(nodes as u64) as usize;
                graph.add_edge(from, to);
                reaches[from][to] = true;
            }
            let edges = reaches.clone();
            for k in 0..nodes {
                for i in 0..nodes {
                    for j in 0..nodes {
                        reaches[i][j] |= reaches[i][k] && reaches[k][j];
                    }
                }
            }
            let expected = (0..nodes).any(|node| reaches[node][node]);
            assert_eq!(graph.is_acyclic(), !expected);
            match graph.find_cycle() {
                None => assert!(!expected),
                Some(cycle) => {
                    cyclic += 1;
                    assert!(expected);
                    for (index, &node) in cycle.iter().enumerate() {
                        assert!(edges[node][cycle[(index + 1) % cycle.len()]]);
                    }
                }
            }
        }
        assert!((500..1_500).contains(&cyclic), "{cyclic}");
    }

    #[test]
    fn a_million_nodes_do_not_overflow_the_stack() {
        let mut graph = Digraph::default();
        graph.reset(1_000_000);
        for node in 1..1_000_000 {
            graph.add_edge(node - 1, node);
        }
        assert!(graph.find_cycle().is_none());
        graph.add_edge(999_999, 0);
        assert_eq!(graph.find_cycle().map(|c| c.len()), Some(1_000_000));
    }
}
