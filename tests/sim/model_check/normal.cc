#include "sim/model_check/normal.h"

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "base/status_code.h"
#include "etcd/grpc/transport.h"

namespace baton::sim {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::array<std::string_view, 5> kRevisions = {
    "revision", "create_revision", "mod_revision", "start_revision", "compact_revision"};
constexpr std::array<std::string_view, 3> kAnswerers = {"cluster_id", "member_id", "raft_term"};

template <std::size_t size>
bool IsOneOf(const std::array<std::string_view, size>& names, const FieldDescriptor& field) {
  for (const std::string_view name : names) {
    if (field.name() == name) return true;
  }
  return false;
}

using Visit = std::function<void(Message&, const FieldDescriptor&)>;

// Changes every number that is set, in the message and in those inside.
void ForEachNumber(Message& message, const Visit& visit) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) visit(message, *field);
    } else if (!field->is_repeated()) {
      ForEachNumber(*reflection.MutableMessage(&message, field), visit);
    } else {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        ForEachNumber(*reflection.MutableRepeatedMessage(&message, field, i), visit);
      }
    }
  }
}

// "compacted up to revision 17", with the script's own count.
std::string ShiftLastNumber(const std::string& words, std::int64_t offset) {
  static constexpr std::string_view kBefore = "compacted up to revision ";
  const auto found = words.find(kBefore);
  if (found == std::string::npos) return words;
  const auto number = found + kBefore.size();
  return words.substr(0, number) + std::to_string(std::stoll(words.substr(number)) - offset);
}

}  // namespace

void Shift(Message& message, std::int64_t offset) {
  ForEachNumber(message, [offset](Message& holder, const FieldDescriptor& field) {
    if (!IsOneOf(kRevisions, field)) return;
    const std::int64_t revision = holder.GetReflection()->GetInt64(holder, &field);
    if (revision > 0) holder.GetReflection()->SetInt64(&holder, &field, revision + offset);
  });
}

std::string NormalText(Message& message, std::int64_t offset) {
  Shift(message, -offset);
  ForEachNumber(message, [](Message& holder, const FieldDescriptor& field) {
    if (IsOneOf(kAnswerers, field)) holder.GetReflection()->SetUInt64(&holder, &field, 1);
  });
  return message.ShortDebugString();
}

std::string Normal(const etcd::CallStatus& status, std::int64_t offset) {
  if (status.ok()) return "done";
  const std::string name = std::string(StatusCodeName(status.code)) + ": ";
  const auto found = status.message.find(name);
  const std::string words =
      found == std::string::npos ? status.message : status.message.substr(found + name.size());
  return std::string(status.outcome == Outcome::kRefused ? "refused " : "unknown ") + name +
         ShiftLastNumber(words, offset) + (status.too_many_operations ? " [too many]" : "") +
         (status.permanent ? " [permanent]" : "");
}

}  // namespace baton::sim
