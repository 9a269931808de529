// config: the YAML file of batond's --config.
//
// Must hold: the file gives options that pass the library's own check, or exit code 2 with lines of
// text, each of which begins with the program's name.
#include "fuzz/daemon_words.h"
#include "fuzz/targets.h"

namespace baton::fuzz {

void RunConfig(std::string_view bytes) {
  if (NamesDevices(bytes)) return;
  const std::string path = Scratch() + "/batond.yaml";
  WriteFile(path, bytes);
  ParseAndJudge({"--config", path});
}

std::vector<Seed> ConfigSeeds() {
  return {{"minimal", "group: orders\nshards: 12\n"},
          {"list", "group: orders\nshards: 12\netcd: [127.0.0.1:2379, 127.0.0.1:2380]\n"},
          {"full",
           "group: orders\nshards: 12\nnode: n1\nttl: 10s\nweight: 2\nzone: a\nlabel: [disk=ssd, "
           "rack=r7]\nhash: xxh3-jump\n"
           "listen: 127.0.0.1:0\nhttp: '[::1]:0'\nlog-level: warn\nlog-format: json\n"
           "allow-remote-admin: yes\nhistory: 100\nevents-file: /tmp/e\n"},
          {"relay", "group: orders\nrelay: true\n"},
          {"twice", "group: orders\ngroup: orders\n"},
          {"two-lines", "group: \"a\\nb\"\nshards: -1\n"},
          {"anchors", "group: &a orders\nshards: *a\n"},
          {"no-ascii", "group: orders\nshards: 12\nservice-address: caf\xc3\xa9:80\n"},
          {"long-host", "group: orders\nshards: 12\nlisten: " + std::string(600, 'a') + ":7400\n"},
          {"no-mapping", "- group\n"},
          {"no-yaml", "group: [\n"}};
}

}  // namespace baton::fuzz
