// state_file: the content of session.lock that StateLock::Take finds: any bytes, or lines and
// checksum as an earlier process would have written them.
//
// Must hold: only lines of this host, boot, file and node under a correct checksum prove a death,
// and they name a session. What is recorded next is found by the next process.
#include <sys/stat.h>
#include <boost/crc.hpp>

#include <fstream>
#include <sstream>

#include "fuzz/targets.h"
#include "runtime/state_lock.h"

namespace baton::fuzz {
namespace {

std::string Folder() { return Scratch() + "/state"; }
std::string Path() { return Folder() + "/session.lock"; }

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string Place() {
  struct stat place {};
  Must(stat(Path().c_str(), &place) == 0, "the file is there");
  return std::to_string(place.st_dev) + ":" + std::to_string(place.st_ino);
}

std::string Signed(const std::string& body) {
  boost::crc_32_type crc;
  crc.process_bytes(body.data(), body.size());
  std::ostringstream sum;
  sum << std::hex << crc.checksum();
  return "baton-state 1\n" + sum.str() + "\n" + body;
}

// If a bit of the choice is set, that line is correct; else it comes from the input.
struct Lines {
  bool right = false;  // all that a proof needs
  std::string body;
};
Lines MakeLines(Input& input) {
  const std::size_t wrong = input.Choice(8);
  const auto line = [&](std::size_t bit, const std::string& own) {
    return ((wrong & bit) != 0 ? std::string(input.Part()) : own) + "\n";
  };
  const std::string own = "orders/n1\n" + BootId() + "\n" + Place() + "\n";
  std::string body = line(1, "orders/n1");
  body += line(2, BootId());
  body += line(4, Place());
  // A part may hold line ends, and thus the lines after it.
  const bool right = body.starts_with(own);
  return {right, body + std::string(input.Rest())};
}

std::unique_ptr<runtime::StateLock> Taken() {
  auto lock = runtime::StateLock::Take(Folder(), "orders", "n1");
  Must(lock.ok(), "a file of any content can be locked", lock.ok() ? "" : lock.error().message);
  return std::move(lock).value();
}

}  // namespace

void RunStateFile(std::string_view bytes) {
  mkdir(Folder().c_str(), 0700);
  Input input(bytes);
  const bool raw = input.Choice(2) == 0;
  WriteFile(Path(), "");
  const Lines lines = raw ? Lines{} : MakeLines(input);
  WriteFile(Path(), raw ? std::string(input.Rest()) : Signed(lines.body));
  const auto highest = runtime::StateLock::NoteIn(Folder(), "orders");
  if (!highest) MustBeOneLine(highest.error().message);
  {
    const auto lock = Taken();
    const runtime::StateLockFound& found = lock->found();
    if (!found.proven_dead.empty()) {
      Must(raw || lines.right, "a death is proven by the right lines alone");
      for (const SessionId dead : found.proven_dead) {
        Must(dead.value > 0, "who is proven dead had a session", std::to_string(dead.value));
      }
    } else if (!found.no_proof.empty()) {
      MustBeOneLine(found.no_proof);
    }
    Must(found.highest_committed.value >= 0, "no revision is below 0");
    if (found.highest_committed.value > 0) {
      const bool possible = found.highest_committed <= runtime::kHighestRevision;
      Must(highest.ok() == possible, "recover believes revisions alone that etcd can have");
      Must(!possible || highest.value().highest == found.highest_committed,
           "all read the same revision");
    }
    Must(lock->RecordSession({.session = SessionId{5}}).ok(), "a session can be recorded");
  }
  const auto next = Taken();
  Must(next->found().proven_dead.front() == SessionId{5},
       "the next process finds what was recorded");
}

std::vector<Seed> StateFileSeeds() {
  const std::string right = std::string("\x01\0", 2);
  return {{"empty", std::string(1, '\0')},
          {"raw", std::string(1, '\0') + "baton-state 1\n0\norders/n1\n"},
          {"proof", right + "77\n900\n"},
          {"impossible-revision", right + "77\n9000000000000000000\n"},
          {"no-session", right + "0\n900\n"},
          {"other-boot", "\x01\x02" + PartBytes("4d5e") + "77\n900\n"},
          {"other-node", "\x01\x01" + PartBytes("orders/n2") + "77\n900\n"}};
}

}  // namespace baton::fuzz
