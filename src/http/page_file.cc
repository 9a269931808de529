#include "http/page_file.h"

#include <map>
#include <memory>
#include <string>

#include "http/embedded_page.h"

namespace baton::http {
namespace {

constexpr std::string_view kFolder = "/page/";
constexpr std::string_view kIndex = "index.html";

// The page shows names of nodes, and anyone who may write to etcd chooses them. If a name were ever
// taken for markup, this policy would still keep it from running code and from sending data away.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string TypeOf(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return "image/svg+xml";
}

std::map<std::string_view, Response> Load() {
  std::map<std::string_view, Response> files;
  for (const EmbeddedFile& file : kEmbeddedPage) {
    files[file.name] = {.content_type = TypeOf(file.name),
                        .body = std::make_shared<std::string>(file.text),
                        .content_security_policy = kPolicy};
  }
  return files;
}

}  // namespace

std::optional<Response> PageFile(std::string_view path) {
  static const std::map<std::string_view, Response> files = Load();
  if (path != "/" && !path.starts_with(kFolder)) return std::nullopt;
  const auto file = files.find(path == "/" ? kIndex : path.substr(kFolder.size()));
  if (file == files.end()) return std::nullopt;
  return file->second;
}

}  // namespace baton::http
