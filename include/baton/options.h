// NodeOptions: everything that can be set on a node.
//
// Plain values. Node::Start checks them once. If a value is out of its range, Start returns
// kInvalidArgument, and the message names the field.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "baton/log.h"
#include "baton/types.h"

namespace baton {

/// The part of EtcdOptions that may change while a node runs: see Node::SetEtcdCredentials. Each
/// field means the same as in EtcdOptions, but no field turns TLS on or off.
struct EtcdCredentials {
  std::string password = {};
  std::string ca_pem = {};
  std::string cert_pem = {};
  std::string key_pem = {};

  friend bool operator==(const EtcdCredentials&, const EtcdCredentials&) = default;
};

/// How to reach etcd. Name etcd's members themselves, not etcd's gRPC proxy: the proxy answers
/// keepalives by itself, and such an answer proves nothing about a lease.
struct EtcdOptions {
  /// 1 to 64 addresses host:port, without http:// or https://, each only once. Write an IPv6
  /// address in brackets: [::1]:2379.
  std::vector<std::string> endpoints = {"127.0.0.1:2379"};
  /// The node's user in etcd. Empty: the node names no user. Leave it empty if etcd has no
  /// authentication, or takes users from client certificates.
  std::string user = {};
  std::string password = {};  ///< REQUIRED if there is a user; must be empty otherwise
  /// The CAs that the node trusts, as PEM text, not as a path. If ca_pem or cert_pem is set, TLS is
  /// on for all endpoints. If both are empty, the node does not use TLS. If TLS is on and ca_pem is
  /// empty, the node trusts the system's CAs. To trust the system's CAs without a client
  /// certificate, put the text of the system's CA bundle here.
  std::string ca_pem = {};
  /// The node's client certificate, as PEM text. Empty: none. Give it together with key_pem.
  std::string cert_pem = {};
  std::string key_pem = {};  ///< the key of cert_pem, as PEM text, without a password
  /// All keys of all groups lie below this prefix. It has at least 2 characters, begins with '/',
  /// and does not end with '/'. All nodes of a group must use the same prefix.
  std::string prefix = "/baton/v1";
};

/// A guard is a process that ends the node's session when the node's process is dead. Without a
/// guard, the session ends when its lease runs out: after up to `ttl`. With a guard, other nodes
/// lead the shards within tens of milliseconds after the death, if the group's failover setting is
/// `immediate`. A guard needs `state_dir`: without a folder, Start returns kInvalidArgument. In
/// these cases Start succeeds, but no guard acts:
///  - The node does not trust the locks of the folder's file system: see `trust_state_lock`.
///  - The folder's file system is overlayfs or can't map files, and `keeps_descriptors` is false.
///  - With kOwn, `guard_program` is empty.
/// Then the log says so, `batonctl doctor` warns, and the metric `baton_guard_running` is 0. A
/// guard can't help if the host dies. It can't help either if it dies together with the node, for
/// example because the node is the first process of its container.
enum class GuardMode : std::uint8_t {
  kOff,     ///< no guard
  kOwn,     ///< a guard that the node starts, and starts again if it ends
  kShared,  ///< a baton-guard that somebody else starts for this node's state directory
};

struct NodeOptions {
  /// REQUIRED: 1 to 128 letters, digits, '-', '_' and '.'; neither "." nor "..".
  std::string group;
  /// REQUIRED: 1 to 1,000,000. Fixed when the first node creates the group. A node with another
  /// count halts (see Listener::Halted).
  std::uint32_t shards = 0;
  /// How keys map to shards. Fixed when the group is created, like `shards`: a node with another
  /// function halts.
  HashFunction hash = HashFunction::kMurmur2;
  /// REQUIRED: the node's name, with the same characters as `group`. Unique in the group, and the
  /// same after a restart. If another process has a session under this name, the node waits until
  /// that session has ended. In two cases the node halts (see Listener::Halted): (a) While the node
  /// waits, the name passes from that session to yet another session, not this node's. (b) The node
  /// has had no session yet, and has waited for 3 s plus twice the greater `ttl` of the two
  /// processes. If etcd is away, this time begins again.
  NodeId node;
  EtcdOptions etcd = {};

  /// Folder for the node's lock file, on a local file system. Empty: no folder. Created if missing,
  /// with its parents; the folder itself gets mode 0700. Folder and lock file must belong to this
  /// process's user or to root, and not be writable by everybody. The lock file must be a regular
  /// file. If it belongs to this user, Start sets its mode to 0600.
  /// Each running node needs a folder of its own: Start refuses a folder that a living process
  /// uses. After a restart on the same host, the lock proves that the earlier process is dead. So
  /// the node takes part again at once. The lock proves nothing after a reboot, after the file was
  /// moved or copied, or on a file system that the node does not trust (see `trust_state_lock`).
  /// Then a restarted node waits until its earlier lease has run out (`ttl`). By the file, the node
  /// also notices that etcd was restored from a backup. If the group's failover setting is `never`,
  /// a node gets its shards back only with the folder that it had when it led them.
  std::string state_dir = {};
  /// Whether the node trusts the lock on any file system. If false, the node trusts the lock only
  /// on ext2 to ext4, xfs, btrfs, f2fs, zfs, tmpfs and overlayfs. On other file systems it then
  /// logs at the start that the lock proves nothing. Set it to true only if the file system of
  /// state_dir keeps each lock as long as its process lives. Otherwise two processes may lead the
  /// same shards.
  bool trust_state_lock = false;
  /// See GuardMode. A child made by fork() shares the lock of this process. So no guard acts until
  /// the child ends, calls exec, or closes its descriptors. With kOwn the guard is a child of this
  /// process: waitpid(-1) in the program may return the guard's process id.
  GuardMode guard = GuardMode::kOff;
  /// Promises that this program closes only descriptors that it opened itself. (closefrom() also
  /// closes others.) A guard needs this promise if the file system of `state_dir` is overlayfs or
  /// can't map files. There, a program that closes the lock's descriptor by mistake frees the lock.
  /// Then a guard would end the session of a living process.
  bool keeps_descriptors = false;
  /// With kOwn: the guard's program, which is installed with Baton. A text with a '/' is its path.
  /// Any other text is its name, which Start looks up in the absolute folders of PATH. If there is
  /// no such program, Start returns kNotFound. If no guard can act (see GuardMode), Start does not
  /// look for the program. Empty: no guard acts, and hang_timeout must be 0.
  std::string guard_program = "baton-guard";

  /// If the node's own thread makes no progress for this long, the guard kills the process with
  /// SIGKILL, and ends the session as after any death. 0, or 500 ms to 366 days. 0: the guard never
  /// kills. If `guard` is not kOwn, or `guard_program` is empty, only 0 is allowed. The guard also
  /// kills a process that was stopped (SIGSTOP, a debugger) or gets no processor time. It does not
  /// notice that the program's own work is stuck: see `watchdog`. Time in which the whole machine
  /// stood still does not count. Choose much less than `ttl`. With `ttl` or more the lease ends
  /// first, so the guard gains nothing, and Start logs a warning.
  std::chrono::milliseconds hang_timeout{0};

  // Addresses at which other hosts reach the program. An address is host:port, but neither 0.0.0.0
  // nor [::]. If all nodes and callers are on one host, it may be unix:/path. Empty: the program
  // has no such address.
  std::string address = {};          ///< of the program's gRPC server
  std::string http_address = {};     ///< of the program's HTTP server; never unix:/path
  std::string service_address = {};  ///< for callers' requests; empty: `address`. Routers use only
                                     ///< host:port, except with RouterOptions::unix_leaders
  std::string zone = {};  ///< failure domain: the label `zone`. Empty, or characters as in `group`
  /// Values of the node's labels by name, for placement rules: at most 32 labels. A name has 1 to
  /// 63 lower-case letters, digits, '-', '_', '.' and '/', and begins with a letter or digit. The
  /// names `node` and `zone` are not allowed: the fields `node` and `zone` give these two labels. A
  /// value has the same form as `group`. An operator may change the labels: see `weight`.
  std::map<std::string, std::string> labels = {};
  /// Share of the shards, relative to the weights of the other nodes: 0 to 1,000,000. A node with
  /// weight 0 takes a shard in three cases: (a) An operator transfers the shard to the node. (b)
  /// The group's failover settings keep the shard for the node. (c) The node led the shard last,
  /// and the shard's record is damaged. A node with weight 0 still serves routes and operators. An
  /// operator may change weight and labels while the node runs (`batonctl nodes set`). Such a
  /// change lasts until the process ends.
  std::uint32_t weight = 1;

  /// Lifetime of the lease that the node asks etcd for: 1 s to 3,600 s. If etcd grants another
  /// lifetime, the granted one counts (etcd's default minimum is 2 s). The node renews the lease
  /// three times per lifetime. It stops leading once 95 % of the lifetime has passed since it sent
  /// the newest renewal that etcd has confirmed.
  ///
  /// When a node dies, its shards have no leader for up to `ttl` + 0.5 s, plus the time that the
  /// claims take. If etcd itself changes its leader meanwhile, this time can be up to twice `ttl`
  /// plus a few seconds. The brake (see `settle`) can add `settle`, and the failover settings can
  /// add more. If a shard's leaders died within 60 s of taking it, twice or more in a row, the
  /// shard waits longer: up to 1 s at first, and up to 5 minutes in the end.
  std::chrono::seconds ttl{10};

  /// How many members a node waits for in a cold start, while no shard has a leader: 1 to 10,000.
  /// The node claims shards as soon as there are so many members (the node counts itself), or the
  /// membership has not changed for `settle`. With 1, the number of members does not count: the
  /// node waits for `settle`. Once the node sees a shard with a leader, this wait is over for good.
  /// If all leaders vanish later, only the brake (see `settle`) may hold the node.
  std::uint32_t expect_nodes = 1;
  /// How long the membership must be unchanged in a cold start (see `expect_nodes`): 0 to 366 days.
  ///
  /// The brake uses `settle`, too. A node claims nothing while at least 3 members, and more than a
  /// tenth of all members, are away. (All members: the live ones and those that are away.) A member
  /// counts as away if it vanished within the last `settle` and is not back. 0 turns the brake off.
  /// A member that called Stop without Drain counts. Members that left by Node::Drain, or that come
  /// and go again and again, don't count.
  ///
  /// Two more waits use `settle`:
  ///  - If a shard's record is damaged and its last leader is unknown, a node replaces the record
  ///    after `settle` + the group's lock delay (`batonctl group set`) + max(10 s, greatest `ttl`
  ///    of the members). With failover `never`, an operator must release the shard instead.
  ///  - If a shard has had no leader for `settle`, and no member may take the shard, the balancer
  ///    reports a Transition whose `to` is empty. No member may take the shard if all have weight
  ///    0, if placement rules forbid it, or if failover is `never`.
  std::chrono::milliseconds settle{2000};

  // Balance. One node, the balancer, plans the moves of the whole group by its own options: give
  // all nodes the same values. An operator may set max-moves, rebalance-delay and cooldown for the
  // group (`batonctl group set`). From the next decision on, the operator's values count instead.
  /// How long an imbalance must last before shards move: 0 to 366 days. The wait begins again if a
  /// member appears, vanishes or gets a new session. A member that comes and goes again and again
  /// does not prolong the wait. Neither a drain nor an operator's rebalance waits for this delay.
  std::chrono::milliseconds rebalance_delay{5000};
  /// The most moves in flight at once in the whole group: 1 to 100,000. Operators' transfers don't
  /// wait for this limit.
  std::uint32_t max_moves = 64;
  /// How long the balancer leaves a shard alone after the shard moved: 0 to 366 days. Neither a
  /// drain nor an operator's rebalance waits for the cooldown.
  std::chrono::milliseconds cooldown{30000};

  // Time limits of the application's callbacks (see Listener): each 1 ms to 366 days. The time
  // begins when the callback is queued. A callback that exceeds its limit goes on running. While
  // fewer than 256 callbacks block, it holds up no other shard. Callbacks that are not named here
  // have no time limit.
  //
  // The node also limits how many calls of Acquired run at once. (Listener::Acquired has the limits
  // of repeated calls.) A call is late once it has exceeded callback_timeout, or its shard is lost.
  // Until then it is in time.
  //  - Once an Acquired has succeeded on the node: a shard's first call waits while 192 calls run
  //    in time, first and repeated calls together.
  //  - Before the first success: a first call waits while 16 first calls run in time, or 64 in all.
  //    The node prepares at most 16 moves at once, and one move less for each first call that waits
  //    or runs in time.
  //  - While the node is failing: a first call waits while 2 first calls run in time, or 64 in all.
  //    After every 2 first calls the node pauses, for up to 5 s. It prepares no moves, not even
  //    those of a drain.
  //
  // A node begins to be failing when Acquired has failed for 3 shards without a success in between.
  // The next success ends this state. Without a success, it ends after 10 s, the next time after
  // 20 s, and so on up to 10 minutes. But while shards wait for their first calls, or failures are
  // common, it goes on for up to 10 minutes. Afterwards the node has the limits from before its
  // first success, but with 1 instead of 16. If one shard fails then, the node is failing again.
  //
  // Failures are common if all nodes that can take shards are failing. They are also common if two
  // or more nodes are failing, and these have half of the weight or more. While failures are
  // common, nodes prepare all moves. A node always prepares an operator's transfer.
  /// For Prepare. If Prepare takes longer, the move is given up.
  std::chrono::milliseconds prepare_timeout{30000};
  /// For Releasing. Listener::Releasing says what follows if Releasing takes longer.
  std::chrono::milliseconds release_timeout{30000};
  /// For Acquired. If Acquired takes longer, the node still leads the shard, but the shard is not
  /// activated. Then another node may try: see Listener::Acquired.
  std::chrono::milliseconds callback_timeout{30000};
  /// How long Node::Drain waits for handoffs before it resigns the shards that are left: 1 ms to
  /// 366 days. One handoff may take up to prepare_timeout (on the target) + release_timeout.
  std::chrono::milliseconds drain_timeout{30000};

  /// The program must call Node::Alive again within this time: 0, or 100 ms to 366 days. 0: no
  /// watchdog. The watchdog begins when the node is first ready, and ends with Drain or Stop. If no
  /// call comes in time, Leads() is false at once. A moment later the session ends: Lost comes for
  /// each shard, and others take over as after a death. The node is not ready until the next call
  /// of Alive, which begins a new session. (If the call comes before the session has ended, Leads()
  /// is true again, with the same terms, and no callback comes.) Call Alive on the threads that do
  /// the work: a thread that does nothing else would keep the shards of a program that hangs.
  /// Choose at least three times the longest pause between two calls.
  std::chrono::milliseconds watchdog{0};

  /// How many events of the group the node keeps in memory for operators: 1 to 1,000,000, about 300
  /// bytes each. Events are transitions, and changes that operators ordered. If there are more, the
  /// oldest events are dropped. A restarted node begins with an empty history.
  std::uint32_t history = 10'000;

  /// Takes the node's log. LogSink says on which thread, and which records are dropped. If `log` is
  /// empty, the node writes each record as a line to stderr. It drops records that stderr does not
  /// take in time. On stderr, the line of a transition also has the fields group and node.
  LogSink log = {};
  /// The node makes no records below this level. If the level is kInfo, kDebug or kTrace, every
  /// transition that this node counts has a record (see Transition).
  LogLevel log_level = LogLevel::kInfo;

  /// How many threads run the listener's callbacks at first: 1 to 256. The pool adds a thread if
  /// all its threads are busy, callbacks wait, and no callback has returned for 20 ms. It has at
  /// most 256 threads, and never shrinks. If the host has no thread left when the pool grows, the
  /// process ends.
  std::size_t callback_threads = 4;
};

}  // namespace baton
