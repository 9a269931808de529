// NodeOptions: everything that can be set on a node. Each field says its unit, range and default,
// and which other fields it works with.
//
// Plain values. Node::Start checks them once and refuses a value outside its range with
// kInvalidArgument; the message names the field.
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

/// The part of EtcdOptions that may change while a node runs (see Node::SetEtcdCredentials). Each
/// field means the same as in EtcdOptions, but TLS stays on or off as it is. The PEM fields hold
/// text, not a path. EtcdOptions::user can't change.
struct EtcdCredentials {
  std::string password = {};
  std::string ca_pem = {};
  std::string cert_pem = {};
  std::string key_pem = {};

  friend bool operator==(const EtcdCredentials&, const EtcdCredentials&) = default;
};

/// How to reach etcd. Name etcd's members directly: etcd's gRPC proxy answers keepalives by itself,
/// which proves nothing about a lease.
struct EtcdOptions {
  /// 1 to 64 addresses host:port, without http:// or https://, each only once. Write an IPv6
  /// address in brackets: [::1]:2379.
  std::vector<std::string> endpoints = {"127.0.0.1:2379"};
  /// The node's user in etcd. Empty: the node names no user to etcd. Leave it empty if etcd has no
  /// authentication, or takes users from client certificates.
  std::string user = {};
  std::string password = {};  ///< REQUIRED if there is a user; must be empty otherwise
  /// The CAs that the node trusts, as PEM text, not a path. TLS is on, for all endpoints, unless
  /// ca_pem, cert_pem and key_pem are all empty. If TLS is on and ca_pem is empty, the node trusts
  /// the system's CAs. To use the system's CAs without a client certificate, put the text of the
  /// system's CA bundle here; otherwise TLS would be off.
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
/// `immediate`. A guard needs `state_dir`: without it, Start returns kInvalidArgument. In three
/// cases Start succeeds, and logs that no guard acts: (1) the node does not trust the locks of the
/// folder's file system (see `trust_state_lock`); (2) `keeps_descriptors` is false, and the
/// folder's file system is overlayfs or can't map files; (3) with kOwn, `guard_program` is empty
/// and `hang_timeout` 0. Then `batonctl doctor` warns, and `baton_guard_running` is 0. A guard
/// can't help if the host dies, or if the guard dies together with the node, for example because
/// the node is the first process of its container.
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
  /// same after a restart. If two processes use one name at once, the second one waits until the
  /// first one's session has ended. The second one halts (see Listener::Halted) in two cases: (a)
  /// while it waits, a third session takes the name; (b) it has waited for at least 3 s plus twice
  /// the greater `ttl` of the two processes, and the name is still in use. If etcd was away
  /// meanwhile, the time in (b) begins again. Case (b) does not apply to a Node object that has had
  /// a session before.
  NodeId node;
  EtcdOptions etcd = {};

  /// Folder for the node's lock file, on a local file system; created if missing. Empty: no folder.
  /// The folder must belong to this process's user or to root, and not be writable by everybody.
  /// Each running node needs a folder of its own: Start refuses a folder that a living process
  /// uses. After a restart on the same host, the lock proves that the earlier process is dead, so
  /// the node takes part again at once. There is no proof after a reboot, if the file was moved or
  /// copied, or if the lock is not trusted (see `trust_state_lock`). Without a proof, a restarted
  /// node waits until its earlier lease has run out (`ttl`). The file also lets the node notice an
  /// etcd that was restored from a backup. If the group's failover setting is `never`, a node gets
  /// its shards back only if it has the same folder as when it led them.
  std::string state_dir = {};
  /// Whether the node trusts the lock on any file system. By default it trusts the lock only on
  /// ext2 to ext4, xfs, btrfs, f2fs, zfs, tmpfs and overlayfs; on others it logs at the start that
  /// the lock proves nothing. Set this only if the file system of state_dir keeps each lock as long
  /// as its process lives. Otherwise two processes may lead the same shards.
  bool trust_state_lock = false;
  /// See GuardMode. A child made by fork() shares the lock of this process: until the child ends,
  /// calls exec, or closes its descriptors, no guard acts. With kOwn the guard is a child of this
  /// process, so waitpid(-1) in the program may return the guard's process id.
  GuardMode guard = GuardMode::kOff;
  /// Promises that this program closes only descriptors that it opened itself. (closefrom() closes
  /// others as well.) If the file system of `state_dir` is overlayfs or can't map files, a guard
  /// acts only if this is true. There, a program that closes the lock's descriptor by mistake frees
  /// the lock, and a guard would end the session of a living process. On other file systems the
  /// lock stays.
  bool keeps_descriptors = false;
  /// With kOwn: the guard's program, which is installed with Baton. A text with a '/' is its path.
  /// Any other text is its name, which Start looks up in those folders of PATH that are absolute.
  /// If there is no such program, Start returns kNotFound. Start does not look for the program if
  /// no guard can act (see GuardMode). Empty: no guard acts, and hang_timeout must be 0.
  std::string guard_program = "baton-guard";

  /// Only with kOwn: if the node's own thread makes no progress for this long, the guard kills the
  /// process with SIGKILL and ends its session, as after any death. 0: the guard never does this.
  /// Otherwise 500 ms to 366 days. Without kOwn, and if `guard_program` is empty, Start refuses any
  /// value but 0. The guard also kills a process that was stopped (SIGSTOP, a debugger) or gets no
  /// processor time. It does not notice that the program's own work is stuck: see `watchdog`. Time
  /// in which the whole machine stood still does not count. Choose much less than `ttl`. With `ttl`
  /// or more, the lease ends first, so the guard gains nothing, and Start logs a warning.
  std::chrono::milliseconds hang_timeout{0};

  // Addresses at which other hosts reach the program: neither 0.0.0.0 nor [::], even if it listens
  // there. Each is host:port, or unix:/path if all nodes and callers are on one host. Empty: the
  // program has no such address.
  std::string address = {};          ///< of the program's gRPC server
  std::string http_address = {};     ///< of the program's HTTP server; never unix:/path
  std::string service_address = {};  ///< for callers' requests; empty: `address`. Routers use only
                                     ///< host:port, except with RouterOptions::unix_leaders
  std::string zone = {};  ///< failure domain: the label `zone`. Empty, or characters as in `group`
  /// Labels of the node by name, for placement rules: at most 32. A name has 1 to 63 lower-case
  /// letters, digits, '-', '_', '.' and '/', and begins with a letter or digit. The names `node`
  /// and `zone` are not allowed: each node has these two labels already, from the fields `node` and
  /// `zone`. A value has the same form as `group`. An operator may change the labels: see `weight`.
  std::map<std::string, std::string> labels = {};
  /// Share of the shards, relative to the weights of the other nodes: 0 to 1,000,000. A node with
  /// weight 0 takes a shard only if (a) an operator transfers the shard to it, (b) the group's
  /// failover settings keep the shard for it, or (c) it led the shard last, and the shard's record
  /// is damaged. Such a node still serves routes and operators. An operator may change weight and
  /// labels while the node runs (`batonctl nodes set`). Such a change lasts until the process ends.
  std::uint32_t weight = 1;

  /// Lifetime that the node asks etcd to give its lease: 1 s to 3,600 s, whole seconds. If etcd
  /// grants another lifetime, that one counts (etcd's default minimum is 2 s). The node renews the
  /// lease three times per lifetime. It stops leading once 95 % of the lifetime has passed since it
  /// sent the newest renewal that etcd has confirmed.
  ///
  /// When a node dies, its shards have no leader for up to `ttl` + 0.5 s, plus the time of the
  /// claims. If etcd changes its leader meanwhile, this can be up to twice `ttl` plus a few
  /// seconds. The brake (see `settle`) can add `settle`. The group's failover settings can add
  /// more. A shard whose leaders died within 60 s of taking it, twice or more in a row, waits up to
  /// 1 s longer at first, and up to 5 minutes in the end.
  std::chrono::seconds ttl{10};

  /// How many members a node waits for in a cold start, while no shard has a leader: 1 to 10,000.
  /// It claims shards as soon as there are so many members (the node counts itself), or the
  /// membership has not changed for `settle`. With 1, only `settle` counts. A node waits like this
  /// at most once, and stops waiting as soon as it sees a shard with a leader. If all leaders
  /// vanish later, only the brake (see `settle`) may hold it.
  std::uint32_t expect_nodes = 1;
  /// How long the membership must be unchanged in a cold start (see `expect_nodes`): 0 to 366 days.
  ///
  /// The brake uses `settle`, too: it keeps nodes from claiming shards while many members are away.
  /// Each node counts the members that vanished within the last `settle` and are still away. The
  /// node claims nothing while these are at least 3 members, and more than a tenth of all members
  /// (live and vanished). 0 turns the brake off. A member that called Stop without Drain is
  /// counted. Members that left by Node::Drain, or that come and go again and again, are not
  /// counted.
  ///
  /// Two more waits use `settle`:
  ///  - A damaged record whose last leader is unknown is replaced after `settle` + the group's lock
  ///    delay (`batonctl group set`) + max(10 s, greatest `ttl` of the members). With failover
  ///    `never` the record is not replaced; an operator must release the shard.
  ///  - If a shard has had no leader for `settle`, and no member may take it, the balancer reports
  ///    a Transition whose `to` is empty. No member may take it if all have weight 0, if placement
  ///    rules forbid it, or if failover is `never`.
  std::chrono::milliseconds settle{2000};

  // Balance. One node, the balancer, plans the moves of the whole group by its own options: give
  // all nodes the same values. An operator may set max-moves, rebalance-delay and cooldown for the
  // group (`batonctl group set`). These values then count instead, from the next decision on.
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

  // Time limits of the application's callbacks (see Listener): each 1 ms to 366 days. The time runs
  // from the moment at which the callback is queued. A callback that takes longer goes on running.
  // It holds up no other shard as long as fewer than 256 callbacks block. Callbacks that are not
  // named here have no time limit.
  //
  // The node limits how many calls of Acquired run at once. Here a call is late once it has
  // exceeded callback_timeout, or its shard is lost. Late calls don't count, except in "with the
  // late ones".
  //  - Once an Acquired has succeeded on the node: a shard's first call waits while 192 calls run,
  //    first and repeated ones together.
  //  - Before that: at most 16 first calls run, and at most 64 with the late ones. The node begins
  //    to prepare a move only while its first calls, running or waiting, and its moves in
  //    preparation are fewer than 16 together.
  //  - While the node is failing: at most 2 first calls run, with pauses of up to 5 s, and at most
  //    64 with the late ones. The node prepares no moves, not even the moves of a drain.
  //
  // A node begins to be failing when Acquired has failed for 3 shards without a success in between.
  // A success ends the failing. Without a success it ends after 10 s, later after up to 10 minutes.
  // It takes 10 minutes while shards wait for their first calls, or failures are common. After that
  // the second case holds, with 1 instead of 16, until a success. If a shard fails before that, the
  // node is failing again.
  //
  // Failures are common if all nodes that can take shards are failing, or at least two nodes that
  // have half of the weight or more. As long as they are common, nodes prepare all moves. A node
  // always prepares an operator's transfer.
  /// Of Prepare. If Prepare takes longer, the move is given up.
  std::chrono::milliseconds prepare_timeout{30000};
  /// Of Releasing. Listener::Releasing says what follows.
  std::chrono::milliseconds release_timeout{30000};
  /// Of Acquired. If Acquired takes longer, the node still leads the shard, but the shard is not
  /// activated, and another node may try (see Listener::Acquired).
  std::chrono::milliseconds callback_timeout{30000};
  /// How long Node::Drain waits for handoffs before it resigns the shards that are left: 1 ms to
  /// 366 days. One handoff may take up to prepare_timeout (on the target) + release_timeout.
  std::chrono::milliseconds drain_timeout{30000};

  /// The program must call Node::Alive again within this time: 0, or 100 ms to 366 days. 0: no
  /// watchdog. The watchdog begins when the node is first ready, and ends with Drain or Stop. If
  /// the program does not call in time, Leads() is false at once. Then Lost is called for each
  /// shard, and the session ends, so that others take over as after a death. At the next call the
  /// node begins a new session; until then it is not ready. (A call that is only just late, before
  /// the node has ended the session, makes Leads() true again, with the same terms and no
  /// callback.) Call Alive on the threads that do the work, not on a thread that does nothing else.
  /// Otherwise a program that does no work any more would keep its shards. Choose at least three
  /// times the longest pause between two calls.
  std::chrono::milliseconds watchdog{0};

  /// How many events of the group (transitions, and what operators ordered) the node keeps in
  /// memory for operators (AdminService): 1 to 1,000,000, about 300 bytes each. If there are more,
  /// the oldest events are dropped. A restarted node begins with an empty history.
  std::uint32_t history = 10'000;

  /// Takes the node's log. LogSink says on which thread, and which records are dropped. If
  /// log_level is kInfo, kDebug or kTrace, there is a record for every transition that this node
  /// counts (see Transition). If `log` is empty, the node writes each record to stderr as a line,
  /// and drops records that stderr does not take in time. A transition's line on stderr also has
  /// the fields group and node, since several nodes may write to one stderr.
  LogSink log = {};
  /// The node makes no records below this level.
  LogLevel log_level = LogLevel::kInfo;

  /// How many threads run the listener's callbacks at first: 1 to 256. If all are busy, callbacks
  /// wait, and none returns for 20 ms, the pool adds a thread, up to 256 in all. The pool never
  /// shrinks. If the host has no thread left when the pool grows, the process ends.
  std::size_t callback_threads = 4;
};

}  // namespace baton
