// The audit's words about each change: every method of the proto that names an actor.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "access/callers.h"
#include "runtime/admin/admin_service.h"
#include "runtime/admin_methods.h"
#include "runtime/fake_control.h"

namespace baton::runtime {
namespace {

using access::Access;
using access::Role;
using testing::ElementsAre;

/// A request that the fake node carries out, and its target in the audit.
struct AskedChange {
  std::string request;  ///< in protobuf's text format, without `actor` and `dry_run`
  std::string target;
  std::string target_if_refused = target;
};

const std::map<std::string, AskedChange>& AskedChanges() {
  static const std::map<std::string, AskedChange> changes = {
      {"TransferShard", {"shard: 2 to: 'n1'", "shard 2 to n1"}},
      {"RetryShard", {"shard: 1", "shard 1"}},
      {"DrainNode", {"node: 'n2'", "node n2"}},
      {"UndrainNode", {"node: 'n2'", "node n2"}},
      {"ApplyRebalance", {"", ""}},
      {"CancelRebalance", {"", ""}},
      {"PauseBalance", {"", ""}},
      {"ResumeBalance", {"", ""}},
      {"SetGroupSetting", {"expected_nodes: 3", "expected_nodes 3"}},
      {"ChangeGroup", {"lock_delay { seconds: 2 }", "lock_delay 2s"}},
      {"SetNode", {"node: 'n1' weight: 2", "node n1: weight 2", "node n1"}},
      {"ReleaseShard", {"shard: 3 confirm: 'orders/3'", "shard 3"}},
  };
  return changes;
}

/// The request of a method, with an actor, as bytes.
std::string EncodedRequest(const google::protobuf::MethodDescriptor& method, std::string fields,
                           bool dry_run) {
  fields += " actor: 'alice@laptop' dry_run: ";
  fields += dry_run ? "true" : "false";
  const std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(method.input_type())
          ->New());
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, request.get()))
      << method.name() << ": " << fields;
  return request->SerializeAsString();
}

/// The service on a unix socket. Its callers are the user of this process, with this role. Each of
/// the changes of AskedChanges could be made.
class AuditedServer {
 public:
  explicit AuditedServer(Role role) {
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-verbs-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const auto access = std::make_shared<Access>(Access::Defaults{});
    access->SetRules({.users = {{geteuid(), role}}});
    const auto callers = std::make_shared<access::Callers>();
    callers->TrustUnixSockets();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Address(), grpc::InsecureServerCredentials());
    service_ = RegisterAdminService(builder, control, {access, callers}, {},
                                    {.write = [this](const AuditEntry& entry) { Note(entry); }});
    server_ = builder.BuildAndStart();
    control.FailActivation(ShardId{1}, 12, "no such table");
    control.Change([](NodeStatus& status) { status.shards[3].leader.clear(); });
  }
  ~AuditedServer() {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_->Wait();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  AuditedServer(const AuditedServer&) = delete;
  AuditedServer& operator=(const AuditedServer&) = delete;

  std::string Address() const { return "unix:" + folder_ + "/socket"; }
  /// Verb, target, dry run, caller, claim, result and error of each entry.
  std::vector<std::string> Entries() {
    const std::lock_guard lock(mutex_);
    return entries_;
  }
  /// The caller's address, as in the last entry.
  std::string Peer() {
    const std::lock_guard lock(mutex_);
    return peer_;
  }

  FakeControl control{{"n1", "n2"}, 4};

 private:
  void Note(const AuditEntry& entry) {
    using Result = AuditEntry::Result;
    const RequestedChange& change = entry.change;
    const char* const result = entry.result == Result::kDone     ? "done"
                               : entry.result == Result::kFailed ? "failed"
                                                                 : "refused";
    std::string line;
    for (const std::string& word :
         {change.verb, change.target, std::string(change.dry_run ? "dry run" : "change"),
          access::NameOf(change.caller), change.claimed, std::string(result), entry.error}) {
      line += (line.empty() ? "" : " | ") + word;
    }
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(line));
    peer_ = change.caller.peer;
  }

  std::mutex mutex_;  // guards the next two
  std::vector<std::string> entries_;
  std::string peer_;
  std::string folder_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
};

enum class ChangeOutcome { kMade, kFailed, kRefused };

/// Asks a node of its own for the change, and compares all that the audit says about it.
void ExpectOneLine(const google::protobuf::MethodDescriptor& method, const AskedChange& asked,
                   bool dry_run, ChangeOutcome outcome) {
  const Role needed = access::RoleFor(method.name()).value();
  const Role less = needed == Role::kAdmin ? Role::kOperate : Role::kRead;
  AuditedServer server(outcome == ChangeOutcome::kRefused ? less : needed);
  if (outcome == ChangeOutcome::kFailed) {
    server.control.FailAll(Error{ErrorCode::kUnavailable, "etcd is away"});
  }
  const grpc::Status status = CallAnyMethod(server.Address(), PathOf(method),
                                            EncodedRequest(method, asked.request, dry_run));
  const std::string caller = "uid " + std::to_string(geteuid());
  const std::string target =
      outcome == ChangeOutcome::kRefused ? asked.target_if_refused : asked.target;
  std::string result = "done";
  EXPECT_TRUE(outcome != ChangeOutcome::kMade || status.ok()) << status.error_message();
  if (outcome == ChangeOutcome::kFailed) {
    EXPECT_EQ(status.error_message(), "etcd is away");
    result = "failed";
  }
  if (outcome == ChangeOutcome::kRefused) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(),
                testing::StartsWith(caller + " may not do this: it needs the role " +
                                    access::ToString(needed)));
    result = "refused";
  }
  EXPECT_THAT(
      server.Entries(),
      ElementsAre(method.name() + " | " + target + " | " + (dry_run ? "dry run" : "change") +
                  " | " + caller + " | alice@laptop | " + result + " | " + status.error_message()));
  const std::string who = " by=\"" + caller + "\" claimed=alice@laptop peer=" + server.Peer();
  const std::string what = " verb=" + method.name() + " target=\"" + target + "\"";
  const std::string error = "\"" + status.error_message() + "\"";
  const std::string change = "change" + what + " dry_run=" + (dry_run ? "true" : "false") + who +
                             " done=" + (status.ok() ? "true" : "false") + " error=" + error;
  const std::string refusal = "change refused" + what + who + " why=" + error + " not_logged=0";
  EXPECT_THAT(server.control.Logged(),
              ElementsAre(outcome == ChangeOutcome::kRefused ? refusal : change));
}

// Plan: each method whose request names an actor, as a change and as a dry run: it is made, etcd is
// away, or the caller lacks the role. Each time one entry and one line of the log say who asked for
// what, and what came of it. A method that is new needs a row in AskedChanges.
TEST(AuditedVerbs, EachLeavesOneLineWithItsOutcome) {
  std::size_t changing = 0;
  for (const auto* method : Methods()) {
    if (!NamesAnActor(*method)) continue;
    ++changing;
    const auto asked = AskedChanges().find(method->name());
    if (asked == AskedChanges().end()) {
      ADD_FAILURE() << method->name() << " has no row";
      continue;
    }
    for (const ChangeOutcome outcome :
         {ChangeOutcome::kMade, ChangeOutcome::kFailed, ChangeOutcome::kRefused}) {
      for (const bool dry_run : {false, true}) {
        SCOPED_TRACE(method->name() + (dry_run ? ", dry run, " : ", ") +
                     std::to_string(static_cast<int>(outcome)));
        ExpectOneLine(*method, asked->second, dry_run, outcome);
      }
    }
  }
  EXPECT_EQ(changing, AskedChanges().size());
}

}  // namespace
}  // namespace baton::runtime
