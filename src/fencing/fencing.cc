#include "baton/fencing.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fork_wiped_words.h"
#include "base/limits.h"
#include "etcd/keyspace.h"

namespace baton {

class FenceGuard::Impl {
 public:
  Impl(std::uint32_t count, std::shared_ptr<TermStore> terms)
      : fences_(Checked(count)), store_(std::move(terms)) {}

  Status Run(ShardId shard, Term term, const std::function<void()>* effect) {
    // The copy of the terms in a child learns of no newer ones, and its locks may be held for ever.
    if (fork_mark_.InForkedChild()) {
      return Error{ErrorCode::kFailedPrecondition,
                   "this process is a forked child: the guard fences in its parent alone"};
    }
    if (shard.value >= fences_.size()) return NoSuchShard(shard);
    if (term.value <= 0) {
      return Error{ErrorCode::kInvalidArgument,
                   "a write without a term: expected the term of the "
                   "leadership under which it was decided"};
    }
    Fence& fence = fences_[shard.value];
    const std::lock_guard lock(fence.mutex);
    if (Status raised = Raise(fence, shard, term); !raised) return raised;
    if (effect != nullptr) (*effect)();
    return Ok();
  }

  Term Highest(ShardId shard) const {
    BATON_CHECK(shard.value < fences_.size());
    return Term{fences_[shard.value].highest.load(std::memory_order_acquire)};
  }

  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  std::uint32_t shards() const { return static_cast<std::uint32_t>(fences_.size()); }

 private:
  struct Fence {
    std::mutex mutex;
    std::atomic<std::int64_t> highest{0};  // written only with the mutex held
  };

  static std::uint32_t Checked(std::uint32_t count) {
    BATON_CHECK(count > 0 && count <= kMaxShards);
    return count;
  }

  Error NoSuchShard(ShardId shard) const {
    return {ErrorCode::kInvalidArgument, "no shard " + std::to_string(shard.value) +
                                             ": expected one below " +
                                             std::to_string(fences_.size())};
  }

  // The store is raised before the memory: a term that was refused once is refused after a crash,
  // too.
  Status Raise(Fence& fence, ShardId shard, Term term) {
    const Term seen{fence.highest.load(std::memory_order_relaxed)};
    if (term == seen) return Ok();
    Term highest = std::max(seen, term);
    if (store_ != nullptr && term > seen) {
      const Result<Term> stored = store_->Raise(shard, term);
      if (!stored) return stored.error();
      highest = std::max(highest, stored.value());
    }
    fence.highest.store(highest.value, std::memory_order_release);
    if (term == highest) return Ok();
    refused_.fetch_add(1, std::memory_order_relaxed);
    return Error{ErrorCode::kStaleTerm, "shard " + std::to_string(shard.value) + ": term " +
                                            std::to_string(term.value) + " is over, term " +
                                            std::to_string(highest.value) +
                                            " was seen, so this leader no longer leads"};
  }

  const ForkMark fork_mark_;
  std::vector<Fence> fences_;
  const std::shared_ptr<TermStore> store_;
  std::atomic<std::uint64_t> refused_{0};
};

FenceGuard::FenceGuard(std::uint32_t shards) : impl_(std::make_unique<Impl>(shards, nullptr)) {}

FenceGuard::FenceGuard(std::uint32_t shards, std::shared_ptr<TermStore> store) {
  BATON_CHECK(store != nullptr);
  impl_ = std::make_unique<Impl>(shards, std::move(store));
}

FenceGuard::~FenceGuard() = default;

Status FenceGuard::Run(ShardId shard, Term term, const std::function<void()>& effect) {
  return impl_->Run(shard, term, &effect);
}

Status FenceGuard::Check(ShardId shard, Term term) { return impl_->Run(shard, term, nullptr); }

Term FenceGuard::Highest(ShardId shard) const noexcept { return impl_->Highest(shard); }
std::uint64_t FenceGuard::refused() const noexcept { return impl_->refused(); }
std::uint32_t FenceGuard::shards() const noexcept { return impl_->shards(); }

Result<TermCompare> CompareTerm(std::string_view prefix, std::string_view group, ShardId shard,
                                Term term) {
  if (const Status valid = etcd::Keyspace::Validate(prefix, group); !valid) return valid.error();
  if (term.value <= 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "a compare without a term: expected the term of the leadership under which the "
                 "transaction was decided"};
  }
  return TermCompare{.key = etcd::Keyspace(prefix, group).ShardKey(shard),
                     .mod_revision = term.value};
}

}  // namespace baton
