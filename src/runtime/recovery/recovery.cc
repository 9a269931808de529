#include "runtime/recovery/recovery.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "baton/v1/records.pb.h"
#include "etcd/ask.h"

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;

// The value of the recovery's key: whether the group had a config.
constexpr const char* kKept = "kept";
constexpr const char* kLost = "lost";
constexpr std::uint32_t kClosedSchema = 1;

constexpr milliseconds kCall{5000};
constexpr milliseconds kLook{200};   // between two calls of progress
constexpr milliseconds kPause{100};  // after a commit that got no answer

Error NoAnswer(const etcd::CallStatus& status) {
  return {ErrorCode::kUnavailable, "etcd: " + status.message};
}

Error HasMembers() {
  return {
      ErrorCode::kFailedPrecondition,
      "a node of the group runs, or its lease has not run out yet: stop all nodes, and try again"};
}

std::string MembersBegin(const etcd::Keyspace& keyspace) { return keyspace.MemberKey(""); }
// The first key after those with this prefix: '0' follows '/'.
std::string MembersEnd(const etcd::Keyspace& keyspace) {
  std::string end = MembersBegin(keyspace);
  ++end.back();
  return end;
}

/// Compares that the group has no member: for absent keys, etcd compares a create revision of 0.
void CompareNoMember(const etcd::Keyspace& keyspace, etcdserverpb::TxnRequest& txn) {
  etcdserverpb::Compare* const compare = txn.add_compare();
  compare->set_result(etcdserverpb::Compare::EQUAL);
  compare->set_target(etcdserverpb::Compare::CREATE);
  compare->set_key(MembersBegin(keyspace));
  compare->set_range_end(MembersEnd(keyspace));
  compare->set_create_revision(0);
}

/// Keeps commits in flight until etcd's revision is high enough. Replies come on the transport's
/// threads. The mutex guards everything except the constants.
class Raise : public std::enable_shared_from_this<Raise> {
 public:
  Raise(etcd::Transport& etcd, const etcd::Keyspace& keyspace, const GroupSurvey& now,
        Revision target)
      : etcd_(etcd), target_(target), reached_(now.revision) {
    auto txn = std::make_shared<etcdserverpb::TxnRequest>();
    CompareNoMember(keyspace, *txn);
    etcdserverpb::PutRequest* const put = txn->add_success()->mutable_request_put();
    put->set_key(keyspace.RecoveryKey());
    put->set_value(now.lost ? kLost : kKept);
    txn_ = std::move(txn);
  }

  Result<Revision> Run(const Recovery::Progress& progress) {
    bool told_to_stop = false;
    std::unique_lock lock(mutex_);
    while (true) {
      if (failures_ > 0) answered_.wait_for(lock, kPause, [&] { return Over(); });
      const bool alone = failures_ > 0;
      const std::size_t more = told_to_stop ? 0 : Missing();
      lock.unlock();
      for (std::size_t i = 0; i < more; ++i) Commit(alone);
      told_to_stop = told_to_stop || !progress(reached());
      lock.lock();
      if (in_flight_ == 0 && (told_to_stop || Over())) break;
      const std::size_t under_way = in_flight_;
      answered_.wait_for(lock, kLook, [&] { return in_flight_ * 2 <= under_way; });
    }
    if (error_) return *error_;
    return reached_;
  }

 private:
  Revision reached() {
    const std::lock_guard lock(mutex_);
    return reached_;
  }

  bool Over() const { return error_.has_value() || reached_ >= target_; }

  /// How many more commits to begin. They count as in flight from now on.
  std::size_t Missing() {
    if (Over()) return 0;
    const auto left = static_cast<std::size_t>(target_.value - reached_.value);
    const std::size_t room = Recovery::kInFlight - in_flight_;
    const std::size_t wanted = left > in_flight_ ? left - in_flight_ : 0;
    const std::size_t more = failures_ > 0 ? std::min<std::size_t>(in_flight_ == 0 ? 1 : 0, wanted)
                                           : std::min(room, wanted);
    in_flight_ += more;
    return more;
  }

  void Commit(bool alone) {
    etcd_.Txn(txn_, kCall,
              [self = shared_from_this(), alone](etcd::Reply<etcdserverpb::TxnResponse> reply) {
                self->On(reply, alone);
              });
  }

  // A broken connection fails all commits in flight on it, which counts as one failure.
  void On(const etcd::Reply<etcdserverpb::TxnResponse>& reply, bool alone) {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    if (!reply.status.ok()) {
      if (alone || failures_ == 0) ++failures_;
      if (failures_ >= Recovery::kMaxFailures || reply.status.permanent)
        error_ = NoAnswer(reply.status);
    } else if (!reply.response.succeeded()) {
      error_ = HasMembers();
    } else {
      failures_ = 0;
      reached_ = std::max(reached_, Revision{reply.response.header().revision()});
    }
    answered_.notify_one();
  }

  etcd::Transport& etcd_;
  const Revision target_;
  std::shared_ptr<const etcdserverpb::TxnRequest> txn_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::size_t in_flight_ = 0;
  int failures_ = 0;  ///< since the last answered commit
  Revision reached_;
  std::optional<Error> error_;
};

}  // namespace

Recovery::Recovery(etcd::Transport& etcd, etcd::Keyspace keyspace)
    : etcd_(etcd), keyspace_(std::move(keyspace)) {}

Result<GroupSurvey> Recovery::Survey() {
  auto txn = std::make_shared<etcdserverpb::TxnRequest>();
  txn->add_success()->mutable_request_range()->set_key(keyspace_.ConfigKey());
  auto* const members = txn->add_success()->mutable_request_range();
  members->set_key(MembersBegin(keyspace_));
  members->set_range_end(MembersEnd(keyspace_));
  members->set_limit(kMaxMembersNamed);  // not keys_only: then etcd 3.7 does not tell the leases
  auto* const newest = txn->add_success()->mutable_request_range();
  newest->set_key(keyspace_.begin());
  newest->set_range_end(keyspace_.end());
  newest->set_sort_order(etcdserverpb::RangeRequest::DESCEND);
  newest->set_sort_target(etcdserverpb::RangeRequest::MOD);
  newest->set_limit(1);
  newest->set_keys_only(true);
  txn->add_success()->mutable_request_range()->set_key(keyspace_.RecoveryKey());
  const auto reply = etcd::Ask<etcdserverpb::TxnResponse>(
      [&](auto handler) { etcd_.Txn(txn, kCall, std::move(handler)); });
  if (!reply.status.ok()) return NoAnswer(reply.status);
  const Error mismatch{ErrorCode::kInternal, "etcd's answer does not match the request"};
  if (reply.response.responses_size() != 4) return mismatch;
  GroupSurvey survey;
  survey.revision = Revision{reply.response.header().revision()};
  survey.cluster_id = reply.response.header().cluster_id();
  for (const auto& stored : reply.response.responses(0).response_range().kvs()) {
    if (stored.key() != keyspace_.ConfigKey()) return mismatch;
    const etcd::Decoded decoded = keyspace_.Decode(stored);
    if (decoded.fact) survey.config = std::get<ConfigFact>(*decoded.fact);
    survey.config_value = stored.value();
    survey.config_revision = Revision{stored.mod_revision()};
  }
  for (const auto& stored : reply.response.responses(1).response_range().kvs()) {
    survey.member_keys.push_back(stored.key());
    if (stored.lease() == 0) survey.unleased_keys.push_back(stored.key());
  }
  for (const auto& stored : reply.response.responses(2).response_range().kvs()) {
    survey.newest = Revision{stored.mod_revision()};
  }
  for (const auto& stored : reply.response.responses(3).response_range().kvs()) {
    survey.lost = stored.value() == kLost;
  }
  if (survey.lost) survey.config = ConfigFact{};
  return survey;
}

Result<Revision> Recovery::RaiseTo(Revision target, const Progress& progress) {
  auto survey = Survey();
  if (!survey) return survey.error();
  const GroupSurvey& now = survey.value();
  if (now.revision >= target) return now.revision;
  return std::make_shared<Raise>(etcd_, keyspace_, now, target)->Run(progress);
}

Status Recovery::Close(const GroupSurvey& survey) { return ChangeConfig(survey, false); }
Status Recovery::Open(const GroupSurvey& survey) { return ChangeConfig(survey, true); }

Status Recovery::ChangeConfig(const GroupSurvey& survey, bool open) {
  BATON_CHECK(!survey.config.present || survey.config.readability == Readability::kReadable);
  v1::ConfigRecord record;  // keeps fields of a later version
  if (survey.config.present) {
    BATON_CHECK(record.ParseFromString(survey.config_value));
  } else {
    record.set_schema(kClosedSchema);
    record.set_shards(1);
  }
  record.set_cluster_id(open ? survey.cluster_id : 0);
  record.clear_before_settings();  // to all who follow the group it is another incarnation
  auto txn = std::make_shared<etcdserverpb::TxnRequest>();
  CompareNoMember(keyspace_, *txn);
  etcdserverpb::Compare* const unchanged = txn->add_compare();
  unchanged->set_result(etcdserverpb::Compare::EQUAL);
  unchanged->set_target(etcdserverpb::Compare::MOD);
  unchanged->set_key(keyspace_.ConfigKey());
  unchanged->set_mod_revision(survey.config_revision.value);
  if (open && !survey.config.present) {
    txn->add_success()->mutable_request_delete_range()->set_key(keyspace_.ConfigKey());
  } else {
    auto* const put = txn->add_success()->mutable_request_put();
    put->set_key(keyspace_.ConfigKey());
    put->set_value(record.SerializeAsString());
  }
  if (open) {
    txn->add_success()->mutable_request_delete_range()->set_key(keyspace_.RecoveryKey());
  } else {
    auto* const mark = txn->add_success()->mutable_request_put();
    mark->set_key(keyspace_.RecoveryKey());
    mark->set_value(survey.config.present ? kKept : kLost);
  }
  const auto reply = etcd::Ask<etcdserverpb::TxnResponse>(
      [&](auto handler) { etcd_.Txn(txn, kCall, std::move(handler)); });
  if (!reply.status.ok()) return NoAnswer(reply.status);
  if (reply.response.succeeded()) return Ok();
  return Error{ErrorCode::kFailedPrecondition,
               "the group's config was changed meanwhile, or a node runs: stop all nodes, and try "
               "again"};
}

}  // namespace baton::runtime
