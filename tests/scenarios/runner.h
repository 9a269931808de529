// RunScenario runs golden scenarios: what a small group does, in lines that are reviewed as diffs.
//
// A file is a list of commands, each followed by the trace of what happened while it ran, indented
// by four spaces. The runner runs the commands on a Cluster and renders the same file with the
// present trace; a test compares the two.
//
//   nodes 3 shards 6            the cluster; must come first. Also: seed N, no-listener
//   set rebalance-delay 5s      before the first start: settle, rebalance-delay, cooldown,
//                               prepare-timeout, release-timeout, callback-timeout,
//                               drain-timeout, expect-nodes, max-moves
//   start n1 n2                 restart n1 (the state directory proves its death), kill n1,
//                               pause n1, resume n1, drain n1, cut n1, uncut n1
//   run 5s                      time passes; 250ms too
//   transfer 3 n2               an operator asks the first running node
//   policy drain/n2             unpolicy drain/n2
//   outage, outage over         of all of etcd
//   lose-replies n1, keep-replies n1
//   hold-watch n1, give-watch n1
//   hang n1 acquired            `acquired` of n1 hangs from now on; prepare, releasing, lost too
//   leaders                     a table of who leads what, in the trace
//   # ...                       a comment, kept
#pragma once

#include <string>

namespace baton::test {

/// Returns `text` with every trace replaced by the present one. Errors are lines that begin with
/// "error:".
std::string RunScenario(const std::string& text);

}  // namespace baton::test
