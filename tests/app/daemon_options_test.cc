// batond's settings: the origin of values, and the error line of each bad value.
#include "app/daemon/daemon_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/common/did_you_mean.h"
#include "app/common/duration.h"
#include "app/common/flag_table.h"
#include "base/duration_text.h"
#include "base/placement.h"
#include "base/text_rules.h"
#include "lab/certificates.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

/// A file that is deleted with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    path_ = testing::TempDir() + "daemon_options_" + std::to_string(getpid()) + "_" +
            std::to_string(++count_);
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  static inline int count_ = 0;
  std::string path_;
};

std::variant<DaemonOptions, EarlyExit> Parse(Arguments arguments, Environment environment = {}) {
  environment.try_emplace("HOME", "/srv/baton");
  Surroundings surroundings;
  surroundings.host_name = "host-1";
  surroundings.environment = [environment](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
  return ParseDaemonOptions(std::move(arguments), surroundings);
}

Arguments Minimal(const Arguments& more = {}) {
  Arguments arguments = {"--group", "orders", "--shards", "1024"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

DaemonOptions Parsed(const Arguments& arguments, const Environment& environment = {}) {
  auto parsed = Parse(arguments, environment);
  if (auto* exit = std::get_if<EarlyExit>(&parsed)) {
    ADD_FAILURE() << exit->text;
    return {};
  }
  return std::get<DaemonOptions>(std::move(parsed));
}

/// The usage error's text; the code must be 2.
std::string Refusal(const Arguments& arguments, const Environment& environment = {}) {
  auto parsed = Parse(arguments, environment);
  auto* exit = std::get_if<EarlyExit>(&parsed);
  if (exit == nullptr) return "accepted";
  EXPECT_EQ(exit->code, 2);
  return exit->text;
}

TEST(DaemonOptions, DefaultsAreThoseOfTheLibrary) {
  // Plan: only the required flags; each default of the table equals that of NodeOptions.
  const DaemonOptions options = Parsed(Minimal());
  const NodeOptions defaults;
  EXPECT_EQ(options.node.group, "orders");
  EXPECT_EQ(options.node.shards, 1024U);
  EXPECT_EQ(options.node.hash, defaults.hash);
  EXPECT_EQ(options.node.node, "host-1");
  EXPECT_EQ(options.node.state_dir, "/srv/baton/.local/state/baton/orders/host-1");
  EXPECT_EQ(options.node.trust_state_lock, defaults.trust_state_lock);
  EXPECT_EQ(options.node.guard, GuardMode::kOwn) << "programs that embed a node ask for one";
  EXPECT_TRUE(options.guard_by_default);
  EXPECT_EQ(options.node.etcd.endpoints, defaults.etcd.endpoints);
  EXPECT_EQ(options.node.etcd.prefix, defaults.etcd.prefix);
  EXPECT_EQ(options.node.ttl, defaults.ttl);
  EXPECT_EQ(options.node.weight, defaults.weight);
  EXPECT_EQ(options.node.expect_nodes, defaults.expect_nodes);
  EXPECT_EQ(options.node.settle, defaults.settle);
  EXPECT_EQ(options.node.rebalance_delay, defaults.rebalance_delay);
  EXPECT_EQ(options.node.max_moves, defaults.max_moves);
  EXPECT_EQ(options.node.cooldown, defaults.cooldown);
  EXPECT_EQ(options.node.prepare_timeout, defaults.prepare_timeout);
  EXPECT_EQ(options.node.release_timeout, defaults.release_timeout);
  EXPECT_EQ(options.node.callback_timeout, defaults.callback_timeout);
  EXPECT_EQ(options.node.drain_timeout, defaults.drain_timeout);
  EXPECT_EQ(http::FormatAddress(options.listen), "127.0.0.1:7400");
  EXPECT_EQ(http::FormatAddress(options.http), "127.0.0.1:7401");
  EXPECT_EQ(options.log.level, log::Level::kInfo);
  EXPECT_EQ(options.log.format, log::Format::kText);
  EXPECT_FALSE(options.allow_remote_admin);
  EXPECT_EQ(options.ready_file, "");
}

TEST(DaemonOptions, EveryFlagIsHonoured) {
  const TemporaryFile pem("-----BEGIN CERTIFICATE-----\n");
  const TemporaryFile password("secret\n");
  const DaemonOptions options = Parsed({"--group=g",
                                        "--shards=7",
                                        "--hash=xxh3-jump",
                                        "--node=n1",
                                        "--state-dir=/s",
                                        "--trust-state-lock",
                                        "--guard=shared",
                                        "--etcd=a:1, [::1]:2",
                                        "--etcd-user=u",
                                        "--etcd-password-file=" + password.path(),
                                        "--etcd-ca=" + pem.path(),
                                        "--etcd-cert=" + pem.path(),
                                        "--etcd-key=" + pem.path(),
                                        "--etcd-prefix=/x",
                                        "--listen=0.0.0.0:0",
                                        "--insecure",
                                        "--http=[::1]:80",
                                        "--advertise=h:9",
                                        "--service-address=s:1",
                                        "--admin-socket=/a",
                                        "--audit-file=/b",
                                        "--audit-required",
                                        "--ready-file=/r",
                                        "--ttl=1m",
                                        "--weight=0",
                                        "--zone=z",
                                        "--label=disk=ssd",
                                        "--expect-nodes=3",
                                        "--settle=1ms",
                                        "--rebalance-delay=2ms",
                                        "--max-moves=4",
                                        "--cooldown=5ms",
                                        "--prepare-timeout=6ms",
                                        "--release-timeout=7ms",
                                        "--callback-timeout=8ms",
                                        "--drain-timeout=9ms",
                                        "--log-level=debug",
                                        "--log-format=json",
                                        "--history=99",
                                        "--events-file=/e",
                                        "--allow-remote-admin",
                                        "--grpc-reflection",
                                        "--core-dumps"});
  EXPECT_TRUE(options.grpc_reflection);
  EXPECT_TRUE(options.core_dumps);
  EXPECT_EQ(options.node.history, 99U);
  EXPECT_EQ(options.events_file, "/e");
  EXPECT_EQ(options.node.node, "n1");
  EXPECT_EQ(options.node.state_dir, "/s");
  EXPECT_TRUE(options.node.trust_state_lock);
  EXPECT_EQ(options.node.guard, GuardMode::kShared);
  EXPECT_EQ(options.node.etcd.endpoints, (std::vector<std::string>{"a:1", "[::1]:2"}));
  EXPECT_EQ(options.node.etcd.user, "u");
  EXPECT_EQ(options.node.etcd.password, "secret");
  EXPECT_EQ(options.node.etcd.ca_pem, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(options.node.etcd.cert_pem, options.node.etcd.ca_pem);
  EXPECT_EQ(options.node.etcd.key_pem, options.node.etcd.ca_pem);
  EXPECT_EQ(options.node.etcd.prefix, "/x");
  EXPECT_EQ(options.service_address, "s:1");
  EXPECT_EQ(options.admin_socket, "/a");
  EXPECT_EQ(options.audit_file, "/b");
  EXPECT_TRUE(options.audit_required);
  EXPECT_EQ(options.ready_file, "/r");
  EXPECT_EQ(options.node.ttl, std::chrono::seconds(60));
  EXPECT_EQ(options.node.hash, HashFunction::kXxh3Jump);
  EXPECT_EQ(options.node.weight, 0U);
  EXPECT_EQ(options.node.zone, "z");
  EXPECT_EQ(options.node.labels, (Labels{{"disk", "ssd"}}));
  EXPECT_EQ(options.node.expect_nodes, 3U);
  EXPECT_EQ(options.node.settle, milliseconds(1));
  EXPECT_EQ(options.node.rebalance_delay, milliseconds(2));
  EXPECT_EQ(options.node.max_moves, 4U);
  EXPECT_EQ(options.node.cooldown, milliseconds(5));
  EXPECT_EQ(options.node.prepare_timeout, milliseconds(6));
  EXPECT_EQ(options.node.release_timeout, milliseconds(7));
  EXPECT_EQ(options.node.callback_timeout, milliseconds(8));
  EXPECT_EQ(options.node.drain_timeout, milliseconds(9));
  EXPECT_EQ(options.log.level, log::Level::kDebug);
  EXPECT_EQ(options.log.format, log::Format::kJson);
  EXPECT_TRUE(options.allow_remote_admin);
}

TEST(DaemonOptions, FlagGoesBeforeEnvironmentBeforeFileBeforeDefault) {
  // Plan: one setting in each of the four places; without the highest the next one counts.
  const TemporaryFile file("ttl: 20s\nlog-level: warn\n");
  const Arguments config = {"--config", file.path()};
  Arguments with_flag = Minimal(config);
  with_flag.insert(with_flag.end(), {"--ttl", "40s"});
  const Environment environment = {{"BATON_TTL", "30s"}};
  EXPECT_EQ(Parsed(with_flag, environment).node.ttl, std::chrono::seconds(40));
  EXPECT_EQ(Parsed(Minimal(config), environment).node.ttl, std::chrono::seconds(30));
  EXPECT_EQ(Parsed(Minimal(config)).node.ttl, std::chrono::seconds(20));
  EXPECT_EQ(Parsed(Minimal()).node.ttl, std::chrono::seconds(10));
}

TEST(DaemonOptions, EnvironmentCanDoWithoutFlags) {
  const TemporaryFile file("etcd: [a:1, b:2]\nallow-remote-admin: true\nweight: 5\n");
  const DaemonOptions options = Parsed({}, {{"BATON_GROUP", "g"},
                                            {"BATON_SHARDS", "3"},
                                            {"BATON_CONFIG", file.path()},
                                            {"BATON_WEIGHT", ""}});
  EXPECT_EQ(options.node.group, "g");
  EXPECT_EQ(options.node.etcd.endpoints, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_TRUE(options.allow_remote_admin);
  EXPECT_EQ(options.node.weight, 5U) << "an empty variable counts as unset";
}

TEST(DaemonOptions, ASwitchThatTheFileSetsCanBeTakenBack) {
  const TemporaryFile file("allow-remote-admin: true\n");
  const DaemonOptions options =
      Parsed(Minimal({"--config", file.path(), "--allow-remote-admin=false"}));
  EXPECT_FALSE(options.allow_remote_admin);
}

struct BadValue {
  Arguments arguments;
  std::string line;
};

TEST(DaemonOptions, EachBadValueHasItsLine) {
  const std::vector<BadValue> table = {
      {{"--ttl=10"},
       "--ttl: \"10\" is not a duration; expected a whole number and a unit, such as 500ms, 10s, "
       "1m "
       "or "
       "2h"},
      {{"--ttl=1500ms"},
       "--ttl: \"1500ms\" is not a lease time; expected whole seconds, as etcd grants them"},
      {{"--ttl=0s"}, "--ttl: \"0s\" is out of range; expected from 1s to 1h"},
      {{"--settle=-1s"},
       "--settle: \"-1s\" is not a duration; expected a whole number and a unit, such as 500ms, "
       "10s, "
       "1m "
       "or 2h"},
      {{"--drain-timeout=0"}, "--drain-timeout: \"0\" is out of range; expected from 1ms to 24h"},
      {{"--shards=0"}, "--shards: \"0\" is not valid; expected a whole number from 1 to 1000000"},
      {{"--hash=md5"},
       "--hash: \"md5\" is not a hash function; expected murmur2, xxh3-jump or modulo"},
      {{"--guard=yes"}, "--guard: \"yes\" is not own, shared or off"},
      {{"--weight=-1"}, "--weight: \"-1\" is not valid; expected a whole number from 0 to 1000000"},
      {{"--max-moves=1.5"},
       "--max-moves: \"1.5\" is not valid; expected a whole number from 1 to 100000"},
      {{"--expect-nodes=0"},
       "--expect-nodes: \"0\" is not valid; expected a whole number from 1 to 10000"},
      {{"--node=a/b"}, std::string("--node: \"a/b\" is not a name; expected ") + kNameRule},
      {{"--node=.."}, std::string("--node: \"..\" is not a name; expected ") + kNameRule},
      {{"--etcd=127.0.0.1"},
       "--etcd: \"127.0.0.1\" is not an endpoint; write host:port, such as 10.0.0.7:2379 or "
       "[::1]:2379"},
      {{"--etcd=http://a:1"},
       "--etcd: \"http://a:1\" is not an endpoint; write host:port, without http://"},
      {{"--etcd=https://a:1"},
       "--etcd: \"https://a:1\" is not an endpoint; write host:port, without https:// (--etcd-ca "
       "turns TLS on)"},
      {{"--etcd=a:1,a:1"}, "--etcd: \"a:1\" is there twice; keep one"},
      {{"--etcd-prefix=baton/"},
       "--etcd-prefix: \"baton/\" is not a prefix; expected a path such as /baton/v1, without a "
       "slash "
       "at its end"},
      {{"--etcd-user=u"}, "--etcd-user: a user needs a password; give --etcd-password-file too"},
      {{"--etcd-ca=/nowhere"}, "--etcd-ca: can't read /nowhere: No such file or directory"},
      {{"--etcd-ca=/dev/null"}, "--etcd-ca: /dev/null holds no PEM; expected -----BEGIN ..."},
      {{"--etcd-ca=/"}, "--etcd-ca: can't read /: Is a directory"},
      {{"--listen=7400"},
       "--listen: \"7400\" is not an address; expected host:port, such as 127.0.0.1:7400 or "
       "[::1]:7400"},
      {{"--listen=0.0.0.0:7400", "--insecure"},
       "--listen: \"0.0.0.0:7400\" is a wildcard, which others can't connect to; give --advertise "
       "with this node's host"},
      {{"--http=[::]:7401", "--insecure"},
       "--http: \"[::]:7401\" is a wildcard, which others can't connect to; give --advertise with "
       "this node's host"},
      {{"--listen=10.0.0.1:7400"},
       "--listen: other hosts reach \"10.0.0.1:7400\", and without TLS everybody on the way can "
       "read "
       "and change what is sent; give --tls-cert and --tls-key, or --insecure on a network that "
       "you trust"},
      {{"--http=127.example.org:0"},
       "--http: other hosts reach \"127.example.org:0\", and without TLS everybody on the way can "
       "read and change what is sent; give --tls-cert and --tls-key, or --insecure on a network "
       "that you trust"},
      {{"--admin-socket=run/admin"},
       "--admin-socket: \"run/admin\" can't be a socket's path; expected an absolute path of at "
       "most 107 bytes"},
      {{"--audit-required"}, "--audit-required: name the file: --audit-file"},
      {{"--tls-max-age=1h"}, "--tls-max-age: it needs TLS; give --tls-cert too"},
      {{"--tls-client-auth=ask"},
       "--tls-client-auth: to ask for clients' certificates, give --tls-client-ca with who signs "
       "them"},
      {{"--http=127.0.0.1:7400"}, "--http: it is the same address as --listen; give another port"},
      {{"--advertise=0.0.0.0"},
       "--advertise: \"0.0.0.0\" can't be connected to; expected this node's host or host:port, as "
       "others reach it"},
      {{"--service-address=0:80"},
       "--service-address: \"0:80\" is a wildcard, which others can't connect to; write the name "
       "or IP address at which others reach this host"},
      {{"--state-dir", ""}, "--state-dir: it is empty; give a value or leave it out"},
      {{"--log-level=loud"},
       "--log-level: \"loud\" is not a log level; expected trace, debug, info, warn or error"},
      {{"--log-format=xml"}, "--log-format: \"xml\" is not a log format; expected text or json"},
      {{"--history=0"}, "--history: \"0\" is not valid; expected a whole number from 1 to 1000000"},
      {{"--events-file", ""}, "--events-file: it is empty; give a value or leave it out"},
      {{"--allow-remote-admin=maybe"},
       "--allow-remote-admin: \"maybe\" is not a switch; expected true or false"},
  };
  for (const BadValue& bad : table) {
    Arguments arguments = {"--group=g"};
    if (!bad.arguments.front().starts_with("--shards")) arguments.emplace_back("--shards=1");
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    EXPECT_EQ(Refusal(arguments), "batond: " + bad.line + "\n");
  }
}

TEST(DaemonOptions, AllThatIsWrongIsSaidAtOnce) {
  EXPECT_EQ(Refusal({"--weight=x"}),
            "batond: --group: it is missing; give the same on all nodes of the group\n"
            "batond: --shards: it is missing; give the same on all nodes of the group\n"
            "batond: --weight: \"x\" is not valid; expected a whole number from 0 to 1000000\n");
}

TEST(DaemonOptions, ItsOwnPortsHaveACertificate) {
  const lab::Issuer issuer("authority");
  const PemTexts texts = issuer.Issue("node");
  const TemporaryFile ca(texts.ca), cert(texts.cert), key(texts.key);
  const TemporaryFile other(issuer.Issue("other").key);
  const std::string use_cert = "--tls-cert=" + cert.path(), use_key = "--tls-key=" + key.path();
  const std::string use_ca = "--tls-client-ca=" + ca.path();
  EXPECT_EQ(Parsed(Minimal()).tls, nullptr);
  const auto clients = [&](const Arguments& more) {
    Arguments all = Minimal({use_cert, use_key, "--listen=10.0.0.1:0"});
    all.insert(all.end(), more.begin(), more.end());
    const DaemonOptions options = Parsed(all);
    return options.tls != nullptr ? options.tls->clients() : ClientCertificates::kNone;
  };
  EXPECT_EQ(clients({}), ClientCertificates::kNone);
  EXPECT_EQ(clients({use_ca}), ClientCertificates::kRequire);
  EXPECT_EQ(clients({use_ca, "--tls-client-auth=require"}), ClientCertificates::kRequire);
  EXPECT_EQ(clients({use_ca, "--tls-client-auth=ask"}), ClientCertificates::kAsk);
  EXPECT_EQ(Parsed(Minimal({use_cert, use_key})).tls_max_age, milliseconds(0));
  EXPECT_EQ(Parsed(Minimal({use_cert, use_key, "--tls-max-age=2h"})).tls_max_age,
            std::chrono::hours(2));
  const std::pair<Arguments, std::string> refused[] = {
      {{use_cert}, "--tls-cert: a certificate needs its key; give --tls-key too"},
      {{use_key}, "--tls-key: a key needs its certificate; give --tls-cert too"},
      {{use_ca}, "--tls-client-ca: without TLS nobody shows a certificate; give --tls-cert too"},
      {{use_cert, "--tls-key=" + other.path()},
       "--tls-cert: the server key does not belong to the server certificate"},
      {{use_cert, use_key, use_ca, "--tls-client-auth=no"},
       "--tls-client-auth: \"no\" is neither require nor ask"}};
  for (const auto& [arguments, line] : refused) {
    EXPECT_EQ(Refusal(Minimal(arguments)), "batond: " + line + "\n");
  }
}

TEST(DaemonOptions, ARelayNeedsNoShapeAndNoMembership) {
  const DaemonOptions options =
      Parsed({"--relay", "--group", "orders", "--listen", "0.0.0.0:7400", "--insecure"});
  EXPECT_TRUE(options.relay);
  EXPECT_EQ(options.node.group, "orders");
  EXPECT_EQ(options.node.node, "host-1-relay");
  EXPECT_FALSE(Parsed(Minimal()).relay);
  const TemporaryFile access("other_hosts: probe\n");
  const DaemonOptions restricted =
      Parsed({"--relay", "--group", "orders", "--access", access.path()});
  EXPECT_EQ(restricted.access_rules.other_hosts, access::Role::kProbe);
}

TEST(DaemonOptions, ARelayRefusesWhatOnlyNodesHave) {
  for (const char* flag :
       {"--shards", "--ttl", "--weight", "--label", "--state-dir", "--drain-timeout"}) {
    EXPECT_THAT(Refusal({"--relay", "--group", "orders", flag, "10"}),
                HasSubstr(std::string(flag) + ": a relay leads nothing"));
  }
  EXPECT_THAT(Refusal({"--relay", "--group", "orders", "--trust-state-lock"}),
              HasSubstr("--trust-state-lock: a relay leads nothing"));
  EXPECT_THAT(Refusal({"--relay", "--group", "orders"}, {{"BATON_ZONE", "z1"}}),
              HasSubstr("BATON_ZONE: a relay"));
}

TEST(DaemonOptions, RefusesWordsThatAreNoFlags) {
  EXPECT_THAT(Refusal(Minimal({"--tll=10s"})), HasSubstr("--tll;"));
  EXPECT_THAT(Refusal(Minimal({"extra"})), HasSubstr("extra"));
  EXPECT_THAT(Refusal(Minimal({"--ttl"})), HasSubstr("--ttl"));
  EXPECT_EQ(Refusal(Minimal({"--ttl=1s", "--ttl=2s"})), "batond: --ttl was given more than once\n");
  EXPECT_EQ(Refusal({"--relay", "--relay"}), "batond: --relay was given more than once\n");
}

// Plan: a misspelt flag, one with underscores, a word that is near no flag, and one without dashes.
TEST(DaemonOptions, AnUnknownFlagIsRefusedWithTheOneThatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"--stauts-dir=x", "unknown flag --stauts-dir; did you mean \"--state-dir\"?"},
      {"--allow_remote_admin",
       "unknown flag --allow_remote_admin; did you mean "
       "\"--allow-remote-admin\"?"},
      {"--replicas=3", "unknown flag --replicas; see batond --help"},
      {"start", "unexpected argument \"start\"; see batond --help"},
  };
  for (const auto& [argument, line] : table) {
    EXPECT_EQ(Refusal(Minimal({argument})), "batond: " + line + "\n");
  }
}

TEST(DidYouMean, FindsWhatIsNearAndNothingElse) {
  const std::vector<std::string> known{"drain", "undrain", "list", "top"};
  EXPECT_EQ(Nearest("drian", known), "drain");
  EXPECT_EQ(Nearest("DRAIN", known), "drain");
  EXPECT_EQ(Nearest("undrian", known), "undrain");
  EXPECT_EQ(Nearest("tp", known), "top");
  EXPECT_EQ(Nearest("lst", known), "list");
  for (const char* far : {"", "x", "status", "topple"}) EXPECT_EQ(Nearest(far, known), "") << far;
  EXPECT_EQ(Nearest(std::string(1'000'000, 'd'), known), "");
}

TEST(DaemonOptions, ABadValueIsTracedToWhereItStands) {
  const TemporaryFile file("# a node\nweight: heavy\n");
  EXPECT_EQ(Refusal(Minimal({"--config", file.path()})),
            "batond: " + file.path() +
                ":2: weight: \"heavy\" is not valid; expected a whole number from 0 to 1000000\n");
  EXPECT_EQ(Refusal(Minimal(), {{"BATON_WEIGHT", "heavy"}}),
            "batond: BATON_WEIGHT: \"heavy\" is not valid; expected a whole number from 0 to "
            "1000000\n");
}

// Plan: a page that is sent to 0.0.0.0 reaches loopback, so a server at all addresses has no such
// name. Other hosts of --http are names.
TEST(DaemonOptions, AWildcardIsNoNameOfTheHttpServer) {
  for (const char* any : {"0.0.0.0:7401", "[::]:7401"}) {
    const auto options = Parsed(
        Minimal({"--insecure", "--http", any, "--advertise", "n1.example", "--http-hosts", "x"}));
    const auto names = HttpNamesOf(options);
    EXPECT_THAT(names, Contains("x"));
    EXPECT_THAT(names, Contains("n1.example"));
    EXPECT_THAT(names, Not(Contains(options.http.host)));
  }
  EXPECT_THAT(HttpNamesOf(Parsed(Minimal({"--http", "localhost:0"}))), Contains("localhost"));
}

TEST(DaemonOptions, RefusesFilesThatAreOff) {
  const std::string list =
      " has no simple value; expected a word, or a list such as [disk=ssd, rack=r7]";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"ttl: 10s\ntll: 10s\n", ":2: unknown key \"tll\"; did you mean \"ttl\"?"},
      {"allow_remote_admin: true\n",
       ":1: unknown key \"allow_remote_admin\"; did you mean \"allow-remote-admin\"?"},
      {"ttl: 10s\n\nttl: 11s\n", ":3: \"ttl\" is there twice; keep one"},
      {"config: x\n",
       ":1: unknown key \"config\"; expected a flag of batond --help, without its two dashes"},
      {"ttl:\n", ":1: \"ttl\"" + list},
      {"etcd:\n  a: b\n", ":1: \"etcd\"" + list},
      {"- ttl\n", ":1: expected a mapping of flag names to values, such as ttl: 10s"},
      {"ttl: 10s\n---\nttl: 11s\n", ":2: a second YAML document begins here; keep one"},
      {"---\n---\nttl: 10s\n", ":2: a second YAML document begins here; keep one"},
      {"ttl: 10s\n...\nnode: n2\n", ":3: a second YAML document begins here; keep one"},
      // yaml-cpp's LoadAll finds documents without an end here.
      {"{ttl: 10s},\nnode: n2\n", ":1: a second YAML document begins here; keep one"},
  };
  for (const auto& [content, line] : table) {
    const TemporaryFile file(content);
    EXPECT_EQ(Refusal(Minimal({"--config", file.path()})), "batond: " + file.path() + line + "\n");
  }
  const TemporaryFile nobody("etcd: [\"\", \"a:1\"]\n");  // as `--etcd ,a:1`
  const Environment only = {
      {"BATON_GROUP", "g"}, {"BATON_SHARDS", "3"}, {"BATON_CONFIG", nobody.path()}};
  EXPECT_THAT(Refusal({}, only), HasSubstr(":1: etcd: \"\" is not an endpoint"));
  const TemporaryFile broken("ttl: [10s\n");
  EXPECT_THAT(Refusal(Minimal({"--config", broken.path()})), HasSubstr("this is not YAML"));
  EXPECT_EQ(Refusal(Minimal({"--config", "/nowhere"})),
            "batond: can't read /nowhere: No such file or directory\n");
  const TemporaryFile behind("ttl: 10s\n---\nttl: [10s\n");
  EXPECT_THAT(Refusal(Minimal({"--config", behind.path()})), HasSubstr("this is not YAML"));
  for (const char* const one :
       {"", "# nothing\n", "---\n# nothing\n", "---\nttl: 10s\n...\n# end\n"}) {
    const TemporaryFile file(one);
    EXPECT_EQ(Parsed(Minimal({"--config", file.path()})).node.group, "orders") << one;
  }
}

TEST(DaemonOptions, StateDirFollowsTheUsersStateFolder) {
  const Arguments arguments = Minimal({"--node", "n1"});
  EXPECT_EQ(Parsed(arguments, {{"XDG_STATE_HOME", "/var/state"}}).node.state_dir,
            "/var/state/baton/orders/n1");
  EXPECT_EQ(Parsed(arguments, {{"XDG_STATE_HOME", "relative"}}).node.state_dir,
            "/srv/baton/.local/state/baton/orders/n1");
  EXPECT_EQ(Refusal(arguments, {{"HOME", ""}}),
            "batond: --state-dir: neither XDG_STATE_HOME nor HOME is set; give a folder\n");
}

TEST(DaemonOptions, AdvertisesWhatOthersCanReach) {
  // Plan: the listening addresses; port 0; a wildcard with a host, and with host and port; IPv4 and
  // IPv6.
  const auto advertised = [](const Arguments& more) {
    const Advertised found = AdvertisedBy(Parsed(Minimal(more)), 1111, 2222);
    return found.grpc + " " + found.http + " " + found.service;
  };
  EXPECT_EQ(advertised({"--listen=127.0.0.1:0", "--http=127.0.0.1:0"}),
            "127.0.0.1:1111 127.0.0.1:2222 127.0.0.1:1111");
  EXPECT_EQ(
      advertised({"--listen=0.0.0.0:0", "--http=0.0.0.0:0", "--advertise=node-1", "--insecure"}),
      "node-1:1111 node-1:2222 node-1:1111");
  EXPECT_EQ(advertised({"--listen=[::]:0", "--http=[::]:0", "--advertise=[fd00::1]:99",
                        "--service-address=app:80", "--insecure"}),
            "[fd00::1]:99 [fd00::1]:2222 app:80");
  // Plan: the application behind a sidecar does not serve at batond's address.
  EXPECT_EQ(advertised({"--sidecar=127.0.0.1:0"}), "127.0.0.1:1111 127.0.0.1:2222 ");
  EXPECT_EQ(advertised({"--sidecar=127.0.0.1:0", "--service-address=app:80"}),
            "127.0.0.1:1111 127.0.0.1:2222 app:80");
}

TEST(DaemonOptions, HelpAndVersionAreNoErrors) {
  const auto help = std::get<EarlyExit>(Parse({"--help"}));
  EXPECT_EQ(help.code, 0);
  for (const Flag& flag : Flags()) EXPECT_THAT(help.text, HasSubstr(std::string("--") + flag.name));
  EXPECT_THAT(help.text, HasSubstr("BATON_ALLOW_REMOTE_ADMIN"));
  const auto version = std::get<EarlyExit>(Parse({"--version"}));
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.text, testing::MatchesRegex("batond [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(std::get<EarlyExit>(Parse({"run", "--version"})).text, version.text);
  EXPECT_EQ(std::get<EarlyExit>(Parse({"run", "--help"})).text, help.text);
}

TEST(Duration, ReadsWholeNumbersWithAUnit) {
  EXPECT_EQ(ParseDuration("500ms").value(), milliseconds(500));
  EXPECT_EQ(ParseDuration("10s").value(), milliseconds(10'000));
  EXPECT_EQ(ParseDuration("1m").value(), milliseconds(60'000));
  EXPECT_EQ(ParseDuration("2h").value(), std::chrono::hours(2));
  EXPECT_EQ(ParseDuration("0").value(), milliseconds(0));
  for (const char* text : {"", "s", "10", "1.5s", "-1s", "+1s", "10 s", "10S", "1d", "1001h",
                           "99999999999999999999s", "0x1s", "1m30s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(Duration, IsWrittenInTheLargestUnitThatSaysItExactly) {
  EXPECT_EQ(FormatDuration(milliseconds(0)), "0s");
  EXPECT_EQ(FormatDuration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(milliseconds(90'000)), "90s");
  EXPECT_EQ(FormatDuration(milliseconds(60'000)), "1m");
}

// Plan: an application in another process: at the given address, or, with a program to run, at a
// socket in the state directory.
TEST(Sidecar, HasAnAddressOfThisHost) {
  const auto read = [](const Arguments& arguments) {
    const auto parsed = Parse(arguments);
    const auto* const options = std::get_if<DaemonOptions>(&parsed);
    EXPECT_NE(options, nullptr);
    return options != nullptr && options->sidecar ? sidecar::FormatAddress(*options->sidecar) : "";
  };
  EXPECT_EQ(read(Minimal()), "");
  EXPECT_EQ(read(Minimal({"--sidecar", "unix:/run/s"})), "unix:/run/s");
  EXPECT_EQ(read(Minimal({"--sidecar", "127.0.0.1:0"})), "127.0.0.1:0");
  Arguments run = Minimal({"--state-dir", "/srv/state", "--", "app", "--group", "-x"});
  run.insert(run.begin(), "run");
  EXPECT_EQ(read(run), "unix:/srv/state/sidecar.sock");
  EXPECT_EQ(std::get<DaemonOptions>(Parse(run)).command, (Arguments{"app", "--group", "-x"}));
  EXPECT_EQ(std::get<DaemonOptions>(Parse(run)).node.group, "orders");
}

// Plan: an address that other hosts can reach, a missing program, a path too long for a socket.
TEST(Sidecar, IsRefusedInOneLine) {
  EXPECT_THAT(Refusal(Minimal({"--sidecar", "0.0.0.0:7410"})), HasSubstr("this host only"));
  EXPECT_THAT(Refusal(Minimal({"--sidecar", "foo", "--watchdog", "3s"})),
              Not(HasSubstr("--watchdog")));
  EXPECT_THAT(Refusal(Minimal({"--sidecar", "unix:/run/s", "--watchdog", "99ms"})),
              HasSubstr("99 ms is too short for a busy machine; expected 0 or 100 ms at least"));
  EXPECT_THAT(Refusal({"run", "--group", "orders", "--shards", "4"}), HasSubstr("no program"));
  EXPECT_THAT(Refusal({"run", "--"}), HasSubstr("no program"));
  Arguments deep = Minimal({"--state-dir", "/" + std::string(100, 'x'), "--", "app"});
  deep.insert(deep.begin(), "run");
  EXPECT_THAT(Refusal(deep), HasSubstr("at most 107; give another"));
}

}  // namespace
}  // namespace baton::app
