#include "runtime/state_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/file_system.h"

namespace baton::runtime {
namespace {

constexpr const char* kMagic = "baton-state 1";

std::int64_t Number(const std::string& text) {
  return std::max(0ll, std::strtoll(text.c_str(), nullptr, 10));
}

// The number after `name` and a space; 0 if the line says something else.
std::int64_t NumberAfter(const std::string& name, const std::string& line) {
  return line.starts_with(name + " ") ? Number(line.substr(name.size() + 1)) : 0;
}

}  // namespace

std::vector<SessionId> StateFile::Sessions() const {
  std::vector<SessionId> named;
  if (session.value > 0 && !external) named.push_back(session);
  if (previous.value > 0) named.push_back(previous);
  return named;
}

std::string Checksum(const std::string& text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  std::ostringstream out;
  out << std::hex << crc.checksum();
  return out.str();
}

std::string StateFileIn(const std::string& directory) { return directory + "/session.lock"; }

std::string Format(const StateFile& content) {
  const std::string body =
      fmt::format("{}\n{}\n{}\n{}\n{}\nguard {:d}\nexternal {:d}\nprevious {}\n", content.identity,
                  content.boot, content.place, content.session.value, content.highest.value,
                  content.guarded, content.external, content.previous.value);
  std::string text = fmt::format("{}\n{}\n{}", kMagic, Checksum(body), body);
  text.resize(kStateFileSize, '\0');
  return text;
}

std::optional<StateFile> ParseStateFile(const std::string& text) {
  std::istringstream lines(text);
  std::string magic, checksum, session, highest, guarded, external, previous;
  StateFile content;
  std::getline(lines, magic);
  std::getline(lines, checksum);
  const auto body_at = lines.tellg();
  for (std::string* line : {&content.identity, &content.boot, &content.place, &session, &highest,
                            &guarded, &external, &previous}) {
    std::getline(lines, *line);
  }
  const std::string body =
      body_at < 0 ? "" : std::string(text.c_str() + static_cast<std::size_t>(body_at));
  if (magic != kMagic || Checksum(body) != checksum) return std::nullopt;
  content.session = SessionId{Number(session)};
  content.highest = Revision{Number(highest)};
  // The first versions wrote no such lines.
  content.says_external = external.starts_with("external ");
  content.guarded = guarded == "guard 1" && content.says_external;
  content.external = content.says_external && external != "external 0";
  content.previous = SessionId{NumberAfter("previous", previous)};
  return content;
}

std::string ReadStateFile(int file) {
  std::string text(kStateFileSize, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::optional<std::string> PlaceOf(int file, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  if (fstat(file, &opened) != 0 || stat(path.c_str(), &named) != 0) return std::nullopt;
  if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino) return std::nullopt;
  return fmt::format("{}:{}", opened.st_dev, opened.st_ino);
}

std::string NeverProof(int file, const std::string& path, LockTrust trust) {
  if (trust == LockTrust::kAnyFileSystem) return "";
  const FileSystem on = FileSystemOf(file);
  if (on.locks_are_proof) return "";
  return fmt::format(
      "'{}' is on {}, whose locks do not prove that a process is dead: a restart of this node "
      "waits for its old lease; use a state directory on a local disk (ext4, xfs, btrfs, f2fs, "
      "zfs, tmpfs, overlayfs), or give --trust-state-lock (trust_state_lock in a program) if locks "
      "there hold for as long as their process lives",
      path, on.name);
}

std::string CheckProof(int file, const std::string& path, const StateFile& content,
                       LockTrust trust) {
  const std::string boot = BootId();
  if (boot.empty()) return "the boot id of this host can't be read";
  if (content.boot != boot) return "the host has rebooted since";
  const auto here = PlaceOf(file, path);
  if (!here || *here != content.place) return "'" + path + "' was moved or copied";
  const std::string never = NeverProof(file, path, trust);
  if (!never.empty()) return never;
  if (!content.Sessions().empty()) return "";
  return content.external ? "another process acts on what the earlier one led"
                          : "the earlier process had no session";
}

}  // namespace baton::runtime
