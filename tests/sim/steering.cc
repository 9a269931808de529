#include "sim/steering.h"

#include <algorithm>
#include <array>

#include "sim/dice.h"

namespace baton::sim {
namespace {

constexpr std::uint8_t kFirstExchange = 192;
constexpr std::uint8_t kClose = 32;  // gaps are milliseconds up to here, and grow to 5 s beyond
constexpr std::uint32_t kMaxMachines = 7;
// Later mishaps are left out, so that the bytes of the corpus keep their meaning.
constexpr int kSteered = static_cast<int>(Mishap::kBadNetwork) + 1;

constexpr std::array kOfCalls = {Fault::kRequestLost,  Fault::kReplyLost,
                                 Fault::kReplyLate,    Fault::kRequestLate,
                                 Fault::kRequestTwice, Fault::kConnectionReset};
constexpr std::array kOfStreams = {Fault::kStreamEnded, Fault::kStreamLate};
constexpr std::array kOfCallbacks = {Fault::kCallbackSlow, Fault::kCallbackThrew,
                                     Fault::kCallbackHung};
constexpr std::size_t kExchangeFaults = kOfCalls.size() + kOfStreams.size() + kOfCallbacks.size();

constexpr std::array kCallPhases = {Phase::kReading,      Phase::kGranting,   Phase::kJoining,
                                    Phase::kTakingOver,   Phase::kRevoking,   Phase::kConfirming,
                                    Phase::kClaiming,     Phase::kPlanning,   Phase::kPrepared,
                                    Phase::kTransferring, Phase::kAbandoning, Phase::kLeaving,
                                    Phase::kPolicy};
constexpr std::array kStreamPhases = {Phase::kWatching, Phase::kRenewing};

struct Exchange {
  Fault fault;
  Phase phase;
};

Exchange ExchangeOf(std::uint8_t fault, std::uint8_t phase) {
  std::size_t place = fault % kExchangeFaults;
  if (place < kOfCalls.size()) return {kOfCalls[place], kCallPhases[phase % kCallPhases.size()]};
  place -= kOfCalls.size();
  if (place < kOfStreams.size()) {
    return {kOfStreams[place], kStreamPhases[phase % kStreamPhases.size()]};
  }
  return {kOfCallbacks[place - kOfStreams.size()], kCallbackPhase};
}

}  // namespace

Steering::Steering(std::span<const std::uint8_t> bytes) {
  for (std::size_t i = 0; i < std::min(kSeedBytes, bytes.size()); ++i) {
    seed_ |= std::uint64_t{bytes[i]} << (8 * i);
  }
  for (std::size_t at = kSeedBytes; at + kRecordBytes <= bytes.size(); at += kRecordBytes) {
    const auto record = bytes.subspan(at, kRecordBytes);
    record[0] < kFirstExchange ? AddMishap(record) : AddExchange(record);
  }
}

void Steering::AddMishap(std::span<const std::uint8_t> record) {
  const int over = std::max(0, record[0] - kClose);
  mishaps_.push_back({.gap = milliseconds(std::min(record[0], kClose) + over * over / 5),
                      .mishap = Mishap(record[1] % kSteered),
                      .random = std::uint64_t{record[2]} << 8 | record[3]});
}

void Steering::AddExchange(std::span<const std::uint8_t> record) {
  const std::uint32_t where = record[0] - kFirstExchange;
  const Exchange struck = ExchangeOf(record[1], record[2]);
  const FaultId id{.source = 1 + where % kMaxMachines,
                   .kind = Dice::KindOf(struck.fault, struck.phase),
                   .number = 1 + std::uint32_t{record[3]}};
  exchanges_[id] = 1 + static_cast<int>(where / kMaxMachines) % kForcedShares;
}

std::string Steering::Text() const {
  std::string text = "seed " + std::to_string(seed_) + "\n";
  for (const SteeredMishap& next : mishaps_) {
    text += "  after " + std::to_string(next.gap / milliseconds(1)) + " ms " +
            ToString(next.mishap) + ", random " + std::to_string(next.random) + "\n";
  }
  for (const auto& [id, share] : exchanges_) {
    text += std::string("  ") + ToString(Fault(id.kind / kPhaseCount)) + " of machine " +
            std::to_string(id.source) + ", " + ToString(Phase(id.kind % kPhaseCount)) +
            ", the one with number " + std::to_string(id.number) + "; length " +
            std::to_string(share) + " of " + std::to_string(kForcedShares) + "\n";
  }
  return text;
}

}  // namespace baton::sim
