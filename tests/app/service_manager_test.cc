// A process and the service manager that started it, on real sockets.
#include "app/common/service_manager.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/owned_descriptor.h"

namespace baton::app {
namespace {

using namespace std::chrono_literals;

/// The service manager's side: a socket with a name of its own below the test's folder, or an
/// abstract one.
class NotifySocket {
 public:
  explicit NotifySocket(bool abstract)
      : folder_(std::filesystem::temp_directory_path() / fmt::format("notify-{}", getpid())),
        name_(abstract ? fmt::format("@notify-{}", getpid()) : (folder_ / "socket").string()),
        socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::filesystem::create_directory(folder_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name_.copy(address.sun_path, name_.size());
    if (abstract) address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  }
  ~NotifySocket() { std::filesystem::remove_all(folder_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  const std::string& name() const { return name_; }
  /// The oldest datagram that nobody has read; "nothing": there is none.
  std::string Next() const {
    std::array<char, 512> text{};
    const ssize_t size = recv(socket_.get(), text.data(), text.size(), 0);
    return size < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(size));
  }

 private:
  const std::filesystem::path folder_;
  const std::string name_;
  const OwnedDescriptor socket_;
};

ServiceManager Told(const std::string& socket, const char* watchdog = nullptr,
                    const char* process = nullptr) {
  setenv("NOTIFY_SOCKET", socket.c_str(), 1);
  if (watchdog != nullptr) setenv("WATCHDOG_USEC", watchdog, 1);
  if (process != nullptr) setenv("WATCHDOG_PID", process, 1);
  return ServiceManager::OfEnvironment();
}

TimePoint At(Duration time) { return TimePoint{} + 1h + time; }

// One datagram for each call, to a path and to an abstract name.
TEST(ServiceManager, HearsWhatIsSaid) {
  for (const bool abstract : {false, true}) {
    const NotifySocket listening(abstract);
    const ServiceManager manager = Told(listening.name());
    EXPECT_TRUE(manager.Say("READY=1\nSTATUS=ready\n"));
    EXPECT_TRUE(manager.Say("STOPPING=1"));
    EXPECT_EQ(listening.Next(), "READY=1\nSTATUS=ready\n");
    EXPECT_EQ(listening.Next(), "STOPPING=1");
    EXPECT_EQ(listening.Next(), "nothing");
  }
}

// A child of the process, such as the program of `batond run`, must not speak for it.
TEST(ServiceManager, IsNotPassedOnToChildren) {
  const NotifySocket listening(false);
  Told(listening.name(), "1000000", std::to_string(getpid()).c_str());
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  }
}

// Nobody to tell, nobody listening, and sockets of unknown kinds: the process goes on.
TEST(ServiceManager, MayBeAbsent) {
  EXPECT_TRUE(ServiceManager::OfEnvironment().Say("READY=1"));
  const std::string too_long = "/" + std::string(sizeof(sockaddr_un::sun_path), 'x');
  for (const std::string& socket :
       {std::string(), std::string("@"), std::string("vsock:2:1234"), std::string("relative"),
        std::string("/nonexistent/notify"), too_long}) {
    ServiceManager manager = Told(socket, "1000000");
    EXPECT_TRUE(manager.Say("READY=1")) << socket;
    manager.Alive(At(0s));
  }
}

// Nobody reads, until the kernel takes no more: that is said, and nothing waits.
TEST(ServiceManager, IsToldAgainIfItHasNoRoom) {
  const NotifySocket listening(false);
  const ServiceManager manager = Told(listening.name());
  int said = 0;
  while (said < 100'000 && manager.Say("STATUS=ready")) ++said;
  EXPECT_LT(said, 100'000);
  while (listening.Next() != "nothing") {
  }
  EXPECT_TRUE(manager.Say("READY=1"));
  EXPECT_EQ(listening.Next(), "READY=1");
}

// Twice in each interval, however often the process says that it is alive.
TEST(ServiceManager, GetsSignsOfLifeAtItsPace) {
  const NotifySocket listening(false);
  ServiceManager manager = Told(listening.name(), "10000000");
  std::string signs;
  for (Duration time = 0s; time < 21s; time += 1s) {
    manager.Alive(At(time));
    if (listening.Next() == "WATCHDOG=1") signs += fmt::format("{} ", time / 1s);
  }
  EXPECT_EQ(signs, "0 5 10 15 20 ");
}

// Without WATCHDOG_USEC, with one that is no number, and with one for another process.
TEST(ServiceManager, GetsNoSignsOfLifeUnlessItAsks) {
  const NotifySocket listening(false);
  for (const auto& [watchdog, process] : {std::pair<const char*, const char*>{nullptr, nullptr},
                                          {"soon", nullptr},
                                          {"-5", nullptr},
                                          {"0", nullptr},
                                          {"1000000", "1"}}) {
    ServiceManager manager = Told(listening.name(), watchdog, process);
    manager.Alive(At(0s));
    EXPECT_EQ(listening.Next(), "nothing") << (watchdog == nullptr ? "none" : watchdog);
  }
}

}  // namespace
}  // namespace baton::app
