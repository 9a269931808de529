#include "app/demo/commands.h"

#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/common/duration.h"
#include "app/demo/demo.h"
#include "app/demo/node.h"
#include "base/duration_text.h"

namespace baton::app {
namespace {

std::string Range(std::uint32_t least, std::uint32_t most) {
  return fmt::format("{} to {}", least, most);
}

void AddTtl(CLI::App* verb, std::chrono::seconds* ttl) {
  verb->add_option_function<std::string>(
          "--ttl",
          [ttl](const std::string& text) {
            const Result<std::chrono::milliseconds> parsed = ParseDuration(text);
            if (!parsed) throw CLI::ValidationError("--ttl", parsed.error().message);
            *ttl = std::chrono::duration_cast<std::chrono::seconds>(parsed.value());
            if (*ttl != parsed.value() || *ttl < DemoOptions::kShortestTtl ||
                *ttl > DemoOptions::kLongestTtl) {
              throw CLI::ValidationError("--ttl",
                                         fmt::format("give whole seconds from {} to {}",
                                                     FormatDuration(DemoOptions::kShortestTtl),
                                                     FormatDuration(DemoOptions::kLongestTtl)));
            }
          },
          "the nodes' leases: how long until a dead node is replaced")
      ->type_name("DURATION")
      ->default_str(FormatDuration(*ttl));
}

CLI::Validator Between(std::uint32_t least, std::uint32_t most) {
  return CLI::Range(least, most).description(Range(least, most));
}

void AddDemo(CLI::App& app, Commands& commands) {
  CLI::App* verb = app.add_subcommand("demo",
                                      "Shows and measures what Baton does, on a private etcd: "
                                      "elect, balance, join, kill, stop, drain");
  auto demo = std::make_shared<DemoOptions>();
  verb->add_option("--nodes", demo->nodes, "nodes at the start; two more join")
      ->check(Between(DemoOptions::kFewestNodes, DemoOptions::kMaxNodes))
      ->capture_default_str();
  verb->add_option("--shards", demo->shards, "shards to be led")
      ->check(Between(DemoOptions::kMaxNodes + 1, DemoOptions::kMaxShards))
      ->capture_default_str();
  AddTtl(verb, &demo->ttl);
  CLI::Option* keep =
      verb->add_flag("--keep", demo->keep, "leave the cluster running and print how to use it");
  verb->add_flag("--secure", demo->secure,
                 "TLS and certificates everywhere, users at etcd, and a part in which all "
                 "certificates are replaced; needs etcdctl")
      ->excludes(keep);
  verb->callback([&commands, demo] {
    commands.run = [&commands, demo] {
      demo->color = commands.options.color;
      return static_cast<ExitCode>(RunDemo(*demo));
    };
  });
}

void AddDemoNode(CLI::App& app, Commands& commands) {
  CLI::App* verb = app.add_subcommand("demo-node", "One node of a demo; started by demo");
  verb->group("");  // not in the help
  auto node = std::make_shared<DemoNodeOptions>();
  verb->add_option("--node", node->node, "node id")->required();
  verb->add_option("--etcd", node->etcd, "etcd's address")->required();
  verb->add_option("--folder", node->folder, "the demo's folder")->required();
  verb->add_option("--shards", node->shards, "shards of the group")->required();
  verb->add_option("--expect-nodes", node->expect_nodes, "nodes that a cold start waits for");
  verb->add_flag("--guarded", node->guarded, "with a guard of its own");
  verb->add_option("--certificates", node->certificates, "folder of a secure demo's certificates");
  AddTtl(verb, &node->ttl);
  verb->callback([&commands, node] {
    commands.run = [node] { return static_cast<ExitCode>(RunDemoNode(*node)); };
  });
}

}  // namespace

void AddDemoCommands(CLI::App& app, Commands& commands) {
  AddDemo(app, commands);
  AddDemoNode(app, commands);
}

}  // namespace baton::app
