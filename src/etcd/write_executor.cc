#include "etcd/write_executor.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "base/check.h"
#include "etcd/guarded_txn.h"
#include "etcd/guarded_write.h"

namespace baton::etcd {

namespace {

// Another member may allow more, or this one after a restart. So the full limit is tried again
// after this time, at the cost of a refused transaction or two.
constexpr Duration kLimitHolds = std::chrono::minutes(10);

constexpr const char* kMismatch = "the answer does not match the request";

}  // namespace

struct WriteExecutor::Shared {
  Shared(Transport& to, Keyspace keys, const Clock& time)
      : keyspace(std::move(keys)), clock(time), transport(&to) {}

  const Keyspace keyspace;
  const Clock& clock;
  std::mutex mutex;
  Transport* transport;                   // guarded by mutex; null once the executor is gone
  std::size_t limit = kMaxTxnOperations;  // guarded by mutex
  TimePoint limit_holds_until;            // guarded by mutex

  // Returns false, without a call, once the executor is gone.
  bool Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
           std::chrono::milliseconds deadline, ReplyHandler<etcdserverpb::TxnResponse> handler,
           Through through = Through::kPresentEndpoint) {
    const std::lock_guard lock(mutex);
    if (transport == nullptr) return false;
    if (through == Through::kAnotherEndpoint) {
      transport->TxnElsewhere(std::move(request), deadline, std::move(handler));
    } else {
      transport->Txn(std::move(request), deadline, std::move(handler));
    }
    return true;
  }

  std::size_t Limit() {
    const std::lock_guard lock(mutex);
    if (clock.Now() >= limit_holds_until) limit = kMaxTxnOperations;
    return limit;
  }

  // Lowers the limit after the server refused `operations` as too many.
  void Halve(std::size_t operations) {
    const std::lock_guard lock(mutex);
    // Several writes of the old size may be in flight, and each comes here.
    limit = std::max<std::size_t>(1, std::min(limit, operations / 2));
    limit_holds_until = clock.Now() + kLimitHolds;
  }
};

namespace {

using etcdserverpb::TxnResponse;

// A range of items whose outcome is open, and the shape to try next.
struct Stretch {
  std::size_t first = 0;
  std::size_t end = 0;
  Shape shape = Shape::kFlat;
};

// One write in flight. The handler of its transaction keeps it alive. Only one transaction is in
// flight, so no two threads use it at once.
class Operation : public PreparedWrite, public std::enable_shared_from_this<Operation> {
 public:
  Operation(std::shared_ptr<WriteExecutor::Shared> shared, const Write& write,
            std::optional<std::vector<Outcome>> earlier)
      : shared_(std::move(shared)),
        write_(MakeGuardedWrite(shared_->keyspace, write)),
        sent_before_(earlier.has_value()) {
    if (earlier) result_.items = *std::move(earlier);
    result_.items.resize(write_.items.size(), Outcome::kUnknown);
    for (std::size_t i = 0; i < result_.items.size(); ++i) {
      if (result_.items[i] != Outcome::kUnknown) continue;
      if (open_.empty() || open_.back().end != i) open_.push_back({.first = i});
      open_.back().end = i + 1;
    }
    // A resend goes nested at once. If each round trip takes half the deadline, a refused flat
    // transaction would leave no time for the nested one, this time and every time.
    for (Stretch& stretch : open_) {
      if (sent_before_ && stretch.end - stretch.first > 1) stretch.shape = Shape::kNested;
    }
    if (!open_.empty()) next_ = MakeNext();
  }

  bool IsOf(const WriteExecutor::Shared& executor) const { return shared_.get() == &executor; }

  void Submit(std::chrono::milliseconds deadline, WriteExecutor::WriteHandler handler) {
    BATON_CHECK(!handler_);
    ends_ = shared_->clock.Now() + deadline;
    handler_ = std::move(handler);
    Advance();
  }

 private:
  struct Request {
    Portion portion;
    std::shared_ptr<const etcdserverpb::TxnRequest> txn;
    std::size_t operations = 0;
  };

  // Sends the next portion, or finishes.
  void Advance() {
    if (!next_ && !open_.empty()) next_ = MakeNext();
    if (!next_ || !SubmitNext()) Finish();
  }

  Request MakeNext() {
    Request request{.portion = TakePortion(), .txn = nullptr};
    request.txn = MakeTxn(request.portion);
    request.operations = CountOperations(*request.txn);
    return request;
  }

  bool SubmitNext() {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(ends_ - shared_->clock.Now());
    if (left.count() <= 0 && sent_) {
      Note("the deadline passed");
      return false;
    }
    sent_ = true;
    const Request request = *std::exchange(next_, std::nullopt);
    const bool sent = shared_->Txn(
        request.txn, std::max(left, std::chrono::milliseconds(1)),
        [self = shared_from_this(), portion = request.portion, operations = request.operations](
            Reply<TxnResponse> reply) { self->Answered(portion, operations, reply); });
    if (!sent) Note("shutting down");
    return sent;
  }

  Portion TakePortion() {
    Stretch& next = open_.front();
    const Portion portion = Fit(write_, next.shape, next.first, next.end, shared_->Limit());
    next.first += portion.count;
    if (next.first == next.end) open_.pop_front();
    return portion;
  }

  void Answered(const Portion& portion, std::size_t operations, const Reply<TxnResponse>& reply) {
    const CallStatus& status = reply.status;
    result_.never_sent = status.never_sent && !reached_;
    reached_ = reached_ || !status.never_sent;
    if (status.ok()) {
      Record(portion, reply.response);
    } else if (status.outcome == Outcome::kUnknown) {
      Note(status.message);
      open_.clear();  // etcd is away: this portion and the rest stay unknown
    } else if (status.too_many_operations && portion.count > 1) {
      shared_->Halve(operations);
      Requeue(portion, portion.shape);
    } else if (status.too_large && portion.count > 1) {
      RequeueInHalves(portion);
    } else {
      NoteRefusal(portion, status);
      // On a resend this says nothing about the earlier copy.
      if (!sent_before_) SetAll(portion, Outcome::kRefused);
    }
    Advance();
  }

  // If one item makes the portion too large, each half without it is sent at once, so the item
  // costs its own outcome alone.
  void RequeueInHalves(const Portion& portion) {
    Portion half = portion;
    half.count = portion.count / 2;
    Portion rest = portion;
    rest.first += half.count;
    rest.count -= half.count;
    Requeue(rest, portion.shape);
    Requeue(half, portion.shape);
  }

  // A refusal for good is more important than another problem that was noted before.
  void NoteRefusal(const Portion& portion, const CallStatus& status) {
    const bool for_good = status.permanent || status.too_many_operations;
    if (for_good && !result_.permanent) result_.detail.clear();
    result_.permanent = result_.permanent || for_good;
    if (!status.too_large) return Note(status.message);
    Note("the write of " + portion.items().front().effects.front().key +
         " alone is too large for etcd: " + status.message);
  }

  void Record(const Portion& portion, const TxnResponse& response) {
    PortionAnswer answer = ReadAnswer(shared_->keyspace, portion, response);
    Append(answer.facts);
    if (answer.items.empty()) return Requeue(portion, Shape::kNested);
    if (!answer.why.empty()) Note(answer.why);
    result_.revision = std::max(result_.revision, Revision{response.header().revision()});
    for (std::size_t i = 0; i < portion.count; ++i) {
      result_.items[portion.first + i] = answer.items[i];
      if (answer.items[i] == Outcome::kUnknown) Note(kMismatch);
    }
  }

  void Requeue(const Portion& portion, Shape shape) {
    open_.push_front(
        {.first = portion.first, .end = portion.first + portion.count, .shape = shape});
  }

  void SetAll(const Portion& portion, Outcome outcome) {
    std::fill_n(result_.items.begin() + static_cast<std::ptrdiff_t>(portion.first), portion.count,
                outcome);
  }

  void Append(std::vector<Fact>& facts) {
    if (result_.read_back.empty()) return result_.read_back.swap(facts);
    std::move(facts.begin(), facts.end(), std::back_inserter(result_.read_back));
  }

  // Keeps only the first problem.
  void Note(const std::string& detail) {
    if (result_.detail.empty()) result_.detail = detail;
  }

  void Finish() {
    const auto any = [&](Outcome outcome) {
      return std::find(result_.items.begin(), result_.items.end(), outcome) != result_.items.end();
    };
    result_.outcome = any(Outcome::kUnknown)   ? Outcome::kUnknown
                      : any(Outcome::kRefused) ? Outcome::kRefused
                                               : Outcome::kDone;
    if (result_.outcome == Outcome::kDone) result_.detail.clear();
    handler_(std::move(result_));
  }

  const std::shared_ptr<WriteExecutor::Shared> shared_;
  const GuardedWrite write_;
  const bool sent_before_;
  TimePoint ends_{};
  WriteExecutor::WriteHandler handler_;
  std::deque<Stretch> open_;
  std::optional<Request> next_;  ///< no longer part of `open_`
  bool sent_ = false;
  bool reached_ = false;  ///< a transaction of this copy may have reached etcd
  WriteResult result_;
};

ConfirmResult ReadConfirmation(const Keyspace& keyspace, const std::string& key,
                               const Reply<TxnResponse>& reply) {
  ConfirmResult result;
  if (!reply.status.ok()) {
    result.outcome = reply.status.outcome;
    result.detail = reply.status.message;
    result.permanent = reply.status.permanent;
    return result;
  }
  const TxnResponse& answer = reply.response;
  const bool found = !answer.succeeded() && answer.responses_size() > 0 &&
                     answer.responses(0).response_range().kvs_size() > 0;
  if (found && answer.responses(0).response_range().kvs(0).key() != key) {
    result.detail = kMismatch;
    return result;
  }
  result.outcome = Outcome::kDone;
  result.passed = answer.succeeded();
  result.revision = Revision{answer.header().revision()};
  result.raft_term = answer.header().raft_term();
  result.cluster_id = answer.header().cluster_id();
  if (result.passed) return result;
  const Decoded decoded = found ? keyspace.Decode(answer.responses(0).response_range().kvs(0))
                                : keyspace.DecodeAbsent(key, result.revision);
  if (decoded.fact) result.member = std::get<MemberFact>(*decoded.fact);
  return result;
}

}  // namespace

WriteExecutor::WriteExecutor(Transport& transport, Keyspace keyspace, const Clock& clock)
    : shared_(std::make_shared<Shared>(transport, std::move(keyspace), clock)) {}

WriteExecutor::~WriteExecutor() {
  const std::lock_guard lock(shared_->mutex);
  shared_->transport = nullptr;
}

std::size_t WriteExecutor::operation_limit() const { return shared_->Limit(); }

std::shared_ptr<PreparedWrite> WriteExecutor::Prepare(
    const Write& write, std::optional<std::vector<Outcome>> earlier) const {
  return std::make_shared<Operation>(shared_, write, std::move(earlier));
}

void WriteExecutor::Submit(std::shared_ptr<PreparedWrite> write, std::chrono::milliseconds deadline,
                           WriteHandler handler) {
  auto& operation = dynamic_cast<Operation&>(*write);
  BATON_CHECK(operation.IsOf(*shared_));
  operation.Submit(deadline, std::move(handler));
}

void WriteExecutor::Confirm(const SessionGuard& guard, std::chrono::milliseconds deadline,
                            ConfirmHandler handler, Through through) {
  const std::string key = shared_->keyspace.MemberKey(guard.node);
  const auto txn = std::make_shared<etcdserverpb::TxnRequest>();
  for (const Guard& holds : SessionGuards(shared_->keyspace, guard)) AddCompare(holds, *txn);
  txn->add_success()->mutable_request_delete_range()->set_key(shared_->keyspace.ConfirmationKey());
  txn->add_failure()->mutable_request_range()->set_key(key);
  shared_->Txn(
      txn, deadline,
      [shared = shared_, key, handler = std::move(handler)](Reply<TxnResponse> reply) {
        handler(ReadConfirmation(shared->keyspace, key, reply));
      },
      through);
}

}  // namespace baton::etcd
