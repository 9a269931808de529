// Listener: how a program that embeds a node learns what it may lead.
//
// Threads: callbacks run on a pool of NodeOptions::callback_threads threads; those of one shard run
// one at a time and in order, those of different shards side by side. A callback may block, be slow
// or throw (a throw is logged and counts as a failed prepare or a failed acquire): it never delays
// lease renewal or another shard's callbacks, as long as pool threads are left.
//
// Whether the node may act is said by Node::Leads() alone: it turns false at the local deadline
// even if no callback could run. Use the term as a fencing token on everything written outside.
#pragma once

#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton {

class BATON_EXPORT Listener {
 public:
  virtual ~Listener() = default;

  /// This node is about to be given `shard` in a planned move: load its state. Leadership has not
  /// begun and may never come. Bounded by prepare_timeout.
  virtual void Prepare(ShardId shard) { (void)shard; }
  /// This node leads `shard` with `term` (Leads() may have been true for a moment already). Its
  /// return ends the activation. Bounded by callback_timeout: exceeding it, or throwing, resigns
  /// the shard. Comes again with the same term where a handover was given up after Releasing.
  virtual void Acquired(ShardId shard, Term term) { (void)shard, (void)term; }
  /// The shard is about to be handed over: finish and flush what is in flight, begin nothing new.
  /// Leads() stays true until this returns (or release_timeout passes), then turns false.
  virtual void Releasing(ShardId shard, Term term) { (void)shard, (void)term; }
  /// This node no longer leads `shard`: Leads() was false before this was called.
  virtual void Lost(ShardId shard, Term term, Reason reason) {
    (void)shard, (void)term, (void)reason;
  }
  /// No renewal was confirmed in time: Leads() is false until Resumed or Lost.
  virtual void Suspended(ShardId shard, Term term) { (void)shard, (void)term; }
  /// The lease turned out alive: Leads() is true again, with the same term as before.
  virtual void Resumed(ShardId shard, Term term) { (void)shard, (void)term; }

  /// One change of one shard's leadership that this node counts (see Transition). Runs on the pool,
  /// in order per shard.
  virtual void Transitioned(const Transition& transition) { (void)transition; }
  /// The node stopped for good (other etcd cluster, time travel, newer schema, duplicate id). All
  /// shards were lost before. Only Stop() is of use now.
  virtual void Halted(const Error& why) { (void)why; }
};

}  // namespace baton
