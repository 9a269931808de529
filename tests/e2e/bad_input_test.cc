// Bad clients, full disks and limits around a running batond. In all cases leaderships and renewals
// go on, memory has a bound, one line says what is wrong, and the trouble ends by itself.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/grpc/server_limits.h"
#include "baton/v1/routing.grpc.pb.h"
#include "e2e/bad_input.h"
#include "e2e/etcd_client.h"
#include "e2e/floods.h"
#include "http/client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr auto kAsGrpc151SaysIt = grpc::StatusCode::UNIMPLEMENTED;

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Reads until the last writer has closed it, then closes it.
std::string ReadToEnd(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(file);
  return text;
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// More clients of one user than there is room for send a request byte by byte. Their connections
// are closed, for want of room or time, and other clients are served all the while.
TEST_F(BadInput, SlowHttpClientsKeepNobodyOut) {
  Begin();
  std::vector<Socket> slow;
  for (int i = 0; i < 300; ++i) {
    slow.emplace_back(node_->http_port());
    ASSERT_TRUE(slow.back().connected());
    slow.back().Send("GET /v1/");
  }
  cluster_.Await("the slow are closed", [&] {
    for (const Socket& client : slow) client.Send("x");
    return std::all_of(slow.begin(), slow.end(),
                       [](const Socket& client) { return client.Closed(); });
  });
  const double closed = cluster_.Metric("n1", "baton_http_bounds_reached_total{bound=\"client\"}");
  const double late =
      cluster_.Metric("n1", "baton_http_bounds_reached_total{bound=\"slow_request\"}");
  EXPECT_GE(closed, 300 - 192);
  EXPECT_GT(late, 0);
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// Heads and bodies that are too large are refused with a message; a request without an end is cut
// off.
TEST_F(BadInput, OversizedHttpRequestsAreRefused) {
  Begin();
  http::Client head(node_->http_port());
  head.Send("GET /v1/status HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'));
  EXPECT_THAT(head.Receive(), testing::AllOf(HasSubstr("431"), HasSubstr("at most 8192 bytes")));
  http::Client body(node_->http_port());
  body.Send("GET /v1/status HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n");
  EXPECT_THAT(body.Receive(), HasSubstr("413"));
  const Socket endless(node_->http_port());
  const std::string chunk(1 << 16, 'x');
  cluster_.Await("it is cut off", [&] { return !endless.Send(chunk); });
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// A client of the gRPC port sends bytes that are not HTTP/2, another one the head of a frame of 16
// MiB: both connections are closed. A third sends 16 MiB of headers without an end. (gRPC 1.51
// keeps twice their size, without a bound: see SECURITY.md.)
TEST_F(BadInput, GarbageAndOversizedGrpcFramesAreCutOff) {
  Begin();
  const std::uint16_t port = PortOf(node_->endpoint());
  const Socket garbage(port), frame(port), headers(port);
  ASSERT_TRUE(garbage.Send(std::string(1 << 16, '\xFF')));
  ASSERT_TRUE(frame.Send(Http2Greeting() + std::string("\xFF\xFF\xFF\0\0\0\0\0\1", 9)));
  const std::string block(16384, '\x40');
  headers.Send(Http2Greeting() + std::string("\0\x40\0\1\0\0\0\0\1", 9) + block);
  const std::string continuation = std::string("\0\x40\0\x09\0\0\0\0\1", 9) + block;
  for (std::size_t sent = 0; sent < kMaxGrowth / 4; sent += block.size()) {
    if (!headers.Send(continuation)) break;
  }
  EXPECT_TRUE(Eventually(kPatience, [&] { return garbage.Refused(); }));
  EXPECT_TRUE(Eventually(kPatience, [&] { return frame.Refused(); }));
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// A well-formed request of 2 MiB is above the bound: the error names that, and the next request on
// the same connection is answered.
TEST_F(BadInput, AnOversizedGrpcRequestIsRefused) {
  Begin();
  const auto channel = grpc::CreateChannel(node_->endpoint(), grpc::InsecureChannelCredentials());
  const auto stub = v1::RoutingService::NewStub(channel);
  const auto look_up = [&](const std::string& key) {
    v1::LookupRequest request;
    v1::LookupResponse response;
    request.set_key(key);
    grpc::ClientContext context;
    return stub->Lookup(&context, request, &response);
  };
  EXPECT_TRUE(look_up("order-16").ok());
  const grpc::Status refused = look_up(std::string(2 << 20, 'x'));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  const grpc::Status answered = look_up("order-17");
  EXPECT_TRUE(answered.ok()) << answered.error_message();
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// Ten thousand clients connect by HTTP/2, greet, and then send nothing. The node keeps as many as
// there is room for and closes the others; memory grows by the cost of the former. Idle ones are
// closed in time, so clients with requests get in. When all leave at once, no renewal is late.
TEST_F(BadInput, TenThousandIdleGrpcConnectionsDisturbNobody) {
  constexpr std::uint64_t kMaxPerConnection = 96 * 1024;
  // A node's bound for its own user: src/app/daemon/daemon.cc, and HTTP's connections.
  constexpr std::size_t kMaxServed = 2'048 + 256;
  constexpr std::size_t kCount = 10'000;
  constexpr rlim_t kOthers = 200;  // descriptors of this process
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < kCount + kOthers) {
    GTEST_SKIP() << "RLIMIT_NOFILE allows " << files.rlim_max << " descriptors, "
                 << kCount + kOthers << " are needed";
  }
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  Begin();
  const std::uint64_t before = Resident(node_->pid());
  std::vector<Socket> idle;
  idle.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    idle.emplace_back(PortOf(node_->endpoint()));
    ASSERT_TRUE(idle.back().connected()) << "connection " << i;
    idle.back().Send(Http2Greeting());
  }
  // The server's greeting shows that it has accepted a connection.
  std::size_t served = 0;
  cluster_.Await("each is served or closed", [&] {
    served = static_cast<std::size_t>(
        std::count_if(idle.begin(), idle.end(), [](const Socket& one) { return one.Heard(); }));
    return std::all_of(idle.begin(), idle.end(),
                       [](const Socket& one) { return one.Heard() || one.Closed(); });
  });
  const std::uint64_t after = Resident(node_->pid());
  EXPECT_GT(served, 0u);
  EXPECT_LE(served, kMaxServed);
  EXPECT_LT(after, before + kMaxGrowth + served * kMaxPerConnection) << "was " << before;
  EXPECT_EQ(CountOf(node_->Log(), "gRPC connections are refused"), 1);
  ExpectUndisturbed();
  EXPECT_TRUE(Eventually(kPatience, [&] { return cluster_.Ctl("n1", {"status"}).exit == 0; }));
  idle.clear();
  ExpectUndisturbed();
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
}

// The events file's disk is full from the start. One line says so, and once there is room the file
// gets all events. The node has a small file system of its own, which ends with it.
TEST_F(BadInput, AFullDiskUnderTheEventsFileCostsNothingElse) {
  const std::string disk = cluster_.folder() + "/disk";
  fs::create_directory(disk);
  BeginUnder("exec unshare -m bash -c 'mount -t tmpfs -o size=64k tmpfs " + disk +
                 " && { cat /dev/zero > " + disk + "/filler; exec \"$@\"; }' bash \"$@\" 2>&1",
             {"--events-file", disk + "/events.jsonl"});
  const std::string inside = "/proc/" + std::to_string(node_->pid()) + "/root" + disk;
  const std::string said = "can't write --events-file " + disk + "/events.jsonl: No space left";
  cluster_.Await("it is said", [&] { return CountOf(node_->Log(), said) == 1; });
  ExpectUndisturbed();
  EXPECT_EQ(CountOf(node_->Log(), said), 1) << "said once";
  ASSERT_TRUE(fs::remove(inside + "/filler"));
  cluster_.Await("all events are written",
                 [&] { return CountOf(Content(inside + "/events.jsonl"), "\n") == kShards; });
  cluster_.Await("and that is said",
                 [&] { return CountOf(node_->Log(), "--events-file is written again") == 1; });
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// Changes need their line in the audit file, whose disk is full from the start. None is made, and
// reading goes on. Once there is room, a change has a line before it is made and one after.
TEST_F(BadInput, AFullDiskUnderARequiredAuditFileAllowsNoChange) {
  const std::string disk = cluster_.folder() + "/disk";
  fs::create_directory(disk);
  BeginUnder("exec unshare -m bash -c 'mount -t tmpfs -o size=64k tmpfs " + disk +
                 " && { cat /dev/zero > " + disk + "/filler; exec \"$@\"; }' bash \"$@\" 2>&1",
             {"--audit-file", disk + "/audit.jsonl", "--audit-required"});
  const std::string inside = "/proc/" + std::to_string(node_->pid()) + "/root" + disk;
  EtcdClient etcd(SharedEtcd().endpoints());
  const std::string why = "can't write --audit-file " + disk + "/audit.jsonl: No space left";
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"pause"}, {"nodes", "drain", "n1"}, {"group", "set", "max-moves", "7"}}) {
    const std::int64_t revision = etcd.Revision();
    const app::Ran refused = cluster_.Ctl("n1", words);
    EXPECT_EQ(refused.exit, 3) << words[0] << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("no change is made without its line in the audit file "
                                       "(--audit-required): " +
                                       why));
    EXPECT_EQ(etcd.Revision(), revision) << words[0];
  }
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  EXPECT_EQ(CountOf(node_->Log(), why), 4) << "once by itself, and with each change";
  ExpectUndisturbed();
  ASSERT_TRUE(fs::remove(inside + "/filler"));
  const app::Ran paused = cluster_.Ctl("n1", {"pause"});
  EXPECT_EQ(paused.exit, 0) << paused.err;
  const auto lines = [&] { return Content(inside + "/audit.jsonl"); };
  cluster_.Await("both lines are there",
                 [&] { return CountOf(lines(), "\"verb\":\"PauseBalance\"") == 2; });
  EXPECT_THAT(lines(), testing::ContainsRegex("\"id\":4,[^\n]*\"result\":\"asked\"[^\n]*\n"
                                              "[^\n]*\"id\":4,[^\n]*\"result\":\"done\""));
  ExpectUndisturbed();
}

// The disk under the audit file stands still: the file is a pipe that nobody reads. A change waits
// for its line until its caller gives up. Another one still waits when the node is told to end: the
// node hands its shards over, answers, and is gone.
TEST_F(BadInput, AnAuditFileThatTakesNothingHoldsUpNoEnd) {
  const std::string pipe = cluster_.folder() + "/audit.pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int still = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(still, 0);
  ASSERT_GE(fcntl(still, F_SETPIPE_SZ, 4096), 0);
  Begin({"--audit-file", pipe, "--audit-required"});
  cluster_.Await("a line waits", [&] {
    return cluster_.Ctl("n1", {"pause", "--dry-run", "--timeout", "3s"}).exit != 0;
  });
  EtcdClient etcd(SharedEtcd().endpoints());
  const std::int64_t revision = etcd.Revision();
  EXPECT_EQ(cluster_.Ctl("n1", {"pause", "--timeout", "1s"}).exit, 5);
  EXPECT_EQ(etcd.Revision(), revision);
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  ExpectUndisturbed();
  const auto resumes = [&] {
    return cluster_.Metric("n1",
                           "grpc_server_started_total{grpc_type=\"unary\",grpc_service=\"baton.v1."
                           "AdminService\",grpc_method=\"ResumeBalance\"}");
  };
  auto waiting = std::async(std::launch::async, [&] {
    return cluster_.Ctl("n1", {"resume", "--timeout", "60s"});
  });
  cluster_.Await("another change waits", [&] { return resumes() == 1; });
  node_->Signal(SIGTERM);
  const auto exit = node_->WaitExit();
  ASSERT_TRUE(exit.has_value()) << "it waits for the disk";
  EXPECT_EQ(exit->code, 0);
  // batonctl has the answer, unless it has first seen that the connection ends.
  EXPECT_THAT(waiting.get().exit, testing::AnyOf(3, 5));
  EXPECT_THAT(node_->Log(), testing::ContainsRegex(
                                "verb=ResumeBalance [^\n]*done=false error=\"no change is made "
                                "without its line in the audit file [^\n]*the node is stopping"));
  EXPECT_EQ(CountOf(node_->Log(), "lines of --audit-file are lost, because its disk stands still"),
            1);
  close(still);
}

// The log's disk is full from the start. Nobody waits for it. Once there is room, the next record
// follows a line that says how many were lost, and why.
TEST_F(BadInput, AFullDiskUnderTheLogCostsNothingElse) {
  const std::string disk = cluster_.folder() + "/disk";
  fs::create_directory(disk);
  BeginUnder("exec unshare -m bash -c 'mount -t tmpfs -o size=64k tmpfs " + disk +
             " && { cat /dev/zero > " + disk + "/filler; exec \"$@\" 2>>" + disk +
             "/log; }' bash \"$@\"");
  const std::string inside = "/proc/" + std::to_string(node_->pid()) + "/root" + disk;
  ExpectUndisturbed();
  ExpectBoundedMemory();
  EXPECT_GT(cluster_.Metric("n1", "baton_log_records_dropped_total"), 0);
  std::ifstream log(inside + "/log");  // keeps the disk when the node has gone
  ASSERT_TRUE(log.is_open());
  ASSERT_TRUE(fs::remove(inside + "/filler"));
  node_->Signal(SIGTERM);
  const auto exit = node_->WaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0);
  const std::string text{std::istreambuf_iterator<char>(log), {}};
  EXPECT_EQ(CountOf(text, "log records were lost: stderr could not be written"), 1) << text;
  EXPECT_THAT(text, HasSubstr("why=\"No space left on device\""));
  EXPECT_THAT(text, HasSubstr("drained"));
}

// The log reaches a limit on the size of files at once: the write fails, and no signal kills the
// node.
TEST_F(BadInput, ALimitOnTheSizeOfFilesCostsNothingElse) {
  BeginUnder("ulimit -f 1; exec \"$@\"");
  ExpectUndisturbed();
  ExpectBoundedMemory();
  EXPECT_LE(fs::file_size(node_->log_path()), 1024u);
  EXPECT_GT(cluster_.Metric("n1", "baton_log_records_dropped_total"), 0);
}

// The node starts without a stderr: none of its files or sockets takes that number and gets the
// log.
TEST_F(BadInput, AClosedStderrIsNobodyElses) {
  BeginUnder("exec 0<&- 1>&- 2>&-; exec \"$@\"");
  const std::string streams = "/proc/" + std::to_string(node_->pid()) + "/fd/";
  for (const char* stream : {"0", "1", "2"}) {
    EXPECT_EQ(fs::read_symlink(streams + stream), "/dev/null") << stream;
  }
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// The log's reader stands still until the pipe is full, and then goes. Nobody waits for it, the
// broken pipe kills nobody, and the next reader learns how many records were lost.
TEST_F(BadInput, AReaderOfTheLogMayStandStillAndGo) {
  const int still = BeginBeforeAStillReader();
  ASSERT_GE(still, 0);
  ExpectUndisturbed();
  close(still);
  ExpectUndisturbed();
  ExpectBoundedMemory();
  const int next = open(LogPipe().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(next, 0);
  ASSERT_EQ(fcntl(next, F_SETFL, 0), 0);
  node_->Signal(SIGTERM);
  const std::string text = ReadToEnd(next);
  ASSERT_TRUE(node_->WaitExit().has_value());
  EXPECT_THAT(text, HasSubstr("why=\"Broken pipe\""));
  EXPECT_THAT(text, HasSubstr("drained"));
}

// A record's text is not UTF-8 while the log's reader stands still. Protobuf would write that to
// stderr on the thread that renews the lease, and wait there. The record is replaced, and the end
// of the process doesn't wait for the reader either.
TEST_F(BadInput, NoLibraryWaitsForAReaderOfTheLog) {
  const int still = BeginBeforeAStillReader();
  ASSERT_GE(still, 0);
  EtcdClient etcd(SharedEtcd().endpoints());
  const std::string schema_1_and_a_leader = "\x08\x01\x1a\x02\xff\xfe";
  const std::int64_t damaged = etcd.Put(cluster_.Key("shards/0"), schema_1_and_a_leader);
  cluster_.Await("it is replaced", [&](const Table& now) {
    return now.size() == kShards && now[0].state == "led" && now[0].term > damaged;
  });
  const double first = Renewals();
  cluster_.Await("renewals go on", [&] { return Renewals() >= first + 3; });
  EXPECT_EQ(cluster_.Metric("n1", "baton_records_quarantined_total"), 1);
  ExpectBoundedMemory();
  node_->Signal(SIGTERM);
  const auto exit = node_->WaitExit();
  close(still);
  ASSERT_TRUE(exit.has_value()) << "it waits for the reader";
  EXPECT_EQ(exit->code, 0);
}

// Lines of the libraries are part of the log, one JSON object each. A request whose text is not
// UTF-8 is refused, and protobuf's line says why.
TEST_F(BadInput, WhatLibrariesSayIsPartOfTheLog) {
  Begin({"--log-level", "debug", "--log-format", "json"});
  v1::LookupRequest request;
  v1::LookupResponse response;
  request.set_group("\xff\xfe");
  grpc::ClientContext context;
  const auto channel = grpc::CreateChannel(node_->endpoint(), grpc::InsecureChannelCredentials());
  const auto answer = v1::RoutingService::NewStub(channel)->Lookup(&context, request, &response);
  EXPECT_THAT(answer.error_code(), testing::AnyOf(grpc::StatusCode::INTERNAL, kAsGrpc151SaysIt));
  EXPECT_TRUE(Eventually(kPatience, [&] {
    return CountOf(node_->Log(), "\"library\":\"protobuf\"") == 1;
  })) << node_->Log();
  const std::string text = node_->Log();
  std::istringstream lines(text.substr(0, text.rfind('\n')));  // the last line may be incomplete
  for (std::string line; std::getline(lines, line);) {
    boost::system::error_code off;
    EXPECT_TRUE(boost::json::parse(line, off).is_object()) << line;
  }
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// Clients hold all descriptors. Connected clients are served, renewals go on, and a line says why
// new ones are refused. Once clients leave, others get in again, by HTTP and by gRPC.
TEST_F(BadInput, TooFewDescriptorsKeepOnlyNewClientsOut) {
  BeginUnder("ulimit -n 128; exec \"$@\"");
  std::vector<Socket> held;
  for (int i = 0; i < 160; ++i) {
    held.emplace_back(PortOf(node_->endpoint()));
    ASSERT_TRUE(held.back().connected());
    held.back().Send(Http2Greeting());
  }
  const auto said = [&](const std::string& who) {
    return CountOf(node_->Log(), who + " connections are refused") == 1;
  };
  EXPECT_TRUE(Eventually(kPatience, [&] { return said("gRPC"); })) << node_->Log();
  // gRPC's clients leave room for probes and scrapes.
  EXPECT_GE(cluster_.Metric("n1", "baton_grpc_connections_refused_total{why=\"full\"}"), 1);
  EXPECT_TRUE(Eventually(kPatience, [&] {
    held.emplace_back(node_->http_port());
    return said("HTTP");
  })) << node_->Log();
  held.clear();
  cluster_.Await("batonctl is answered", [&] { return cluster_.Ctl("n1", {"status"}).exit == 0; });
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// A caller sends bursts of 56 kB. By default gRPC would read more at once after each, and it
// handles what it has read, also if the connection is ended meanwhile. (Of callers who may operate,
// nothing is weighed.)
TEST_F(BadInput, LittleIsReadAtOnce) {
  const std::string sizes = cluster_.folder() + "/sizes";
  std::ofstream(sizes).close();
  fs::resize_file(sizes, 65'536 * sizeof(std::uint32_t));
  BeginUnder("export READ_SIZES=" + sizes + " LD_PRELOAD=" READ_SIZES_PRELOAD "; exec \"$@\"");
  const std::uint16_t port = PortOf(node_->endpoint());
  const Socket caller(port);
  ASSERT_TRUE(caller.Send(Http2Greeting()));
  const std::string burst =
      Repeated(FrameOf({kPriority, 0, 1}, std::string(5, '\0')), 56'000) + FrameOf({kSettings});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(caller.Send(burst));
    cluster_.Await("an answer to the settings", [&] { return !caller.Take().empty(); });
  }
  std::ifstream file(sizes, std::ios::binary);
  std::uint32_t largest = 0;
  file.seekg(static_cast<std::streamoff>(port * sizeof largest));
  file.read(reinterpret_cast<char*>(&largest), sizeof largest);
  EXPECT_GT(largest, 0u);
  EXPECT_LE(largest, static_cast<std::uint32_t>(kMaxReadAtOnce));
}

// Whole calls of 29 bytes or so that are served and never over, because nobody takes their answers.
// gRPC bounds them only for clients that acknowledge its settings. Plan: one caller begins as many
// as gRPC lets clients have, another some hundred a second. The second one loses its connection, so
// it can't take all memory, or the time that it takes gRPC to end them all at once.
TEST_F(BadInput, CallsThatAreNeverOverEndTheirConnection) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Begin();
  const std::string headers = CallHeaders{.method = "WhoAmI"}.Encoded();
  const auto calls = [&](std::uint32_t begin, std::uint32_t end) {
    std::string all;
    for (std::uint32_t stream = 1 + 2 * begin; stream < 1 + 2 * end; stream += 2) {
      all += FrameOf({kHeaders, kEndOfHeaders, stream}, headers) +
             FrameOf({kData, kEndOfStream, stream}, std::string(5, '\0'));
    }
    return all;
  };
  const std::string no_room = FrameOf({kSettings}, std::string("\0\4\0\0\0\0", 6));
  const Socket modest = ConnectAs(kSomebody, PortOf(node_->endpoint()));
  ASSERT_TRUE(modest.Send(Http2Greeting() + no_room + calls(0, kMaxStreamsOfNode)));
  const Socket greedy = ConnectAs(kSomebody + 1, PortOf(node_->endpoint()));
  ASSERT_TRUE(greedy.Send(Http2Greeting() + no_room));
  std::uint32_t begun = 0;
  EXPECT_TRUE(Eventually(kPatience, [&] {
    greedy.Send(calls(begun, begun + 10));
    begun += 10;
    return greedy.Refused();
  }));
  EXPECT_GT(cluster_.Metric("n1", "baton_grpc_bounds_reached_total{bound=\"open_calls\"}"), 0)
      << node_->Log();
  EXPECT_FALSE(modest.Refused());
  ExpectUndisturbed();
}

// gRPC's reflection holds a thread for each of its streams. Plan: a caller begins 640 streams that
// wait. The process has few threads more, and operators are served.
TEST_F(BadInput, ReflectionTakesFewThreads) {
  Begin({"--grpc-reflection"});
  const auto before = node_->threads();
  std::vector<Socket> held;
  while (held.size() < 40) {
    held.emplace_back(PortOf(node_->endpoint()));
    held.back().Send(Http2Greeting());
    ASSERT_TRUE(Eventually(kPatience, [&] { return held.back().Heard(); }));
    held.back().Send(FrameOf({kSettings, kAck}) + ReflectionStreams(kMaxStreamsOfNode));
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  EXPECT_LE(node_->threads(), before + kMaxThreadsOfReflection);
  held.clear();
  ExpectUndisturbed();
}

// Plan: a caller keeps to all limits, and its connections with their streams use up the memory of
// the port's server, which then ends calls of others, too. Operators are served at the admin
// socket, and renewals go on.
TEST_F(BadInput, OperatorsAtTheAdminSocketHaveMemoryOfTheirOwn) {
  constexpr std::size_t kConnections = 1'480;  // of at most 1,536
  const std::string admin = cluster_.folder() + "/admin.sock";
  Begin({"--admin-socket", admin});
  const std::string watch =
      CallHeaders{.method = "Watch", .service = "grpc.health.v1.Health"}.Encoded();
  std::string watches = FrameOf({kSettings, kAck});
  for (std::uint32_t stream = 1; stream < 2 * kMaxStreamsOfNode; stream += 2) {
    watches += FrameOf({kHeaders, kEndOfHeaders, stream}, watch) +
               FrameOf({kData, kEndOfStream, stream}, std::string(5, '\0'));
  }
  std::vector<Socket> held;
  while (held.size() < kConnections) {
    held.emplace_back(PortOf(node_->endpoint()));
    held.back().Send(Http2Greeting());
  }
  for (const Socket& socket : held) {
    ASSERT_TRUE(Eventually(kPatience, [&] { return socket.Heard(); }));
    socket.Send(watches);
  }
  for (int i = 0; i < 20; ++i) {
    const app::Ran status =
        app::RunProcess({.arguments = {BATONCTL, "--endpoint", "unix:" + admin, "status"},
                         .input = {},
                         .watch = {}});
    EXPECT_EQ(status.exit, 0) << status.err;
  }
  RecordProperty("resident_mib", static_cast<int>(Resident(node_->pid()) >> 20));
  held.clear();
  ExpectUndisturbed();
}

}  // namespace
}  // namespace baton::e2e
