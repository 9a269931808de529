// The headers by which every answer of the HTTP server tells browsers what other pages may do with
// it: nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "http/client.h"
#include "http/fake_control.h"
#include "http/server.h"

namespace baton::http {
namespace {

class HeadersTest : public testing::Test {
 protected:
  HeadersTest() {
    runtime::NodeStatus status;
    status.group = "orders";
    status.node = "n1";
    control_.SetStatus(std::move(status));
    auto bound = HttpServer::Bind({.group = "orders", .address = "127.0.0.1:0"});
    EXPECT_TRUE(bound.ok()) << bound.error().message;
    server_ = std::move(bound).value();
    server_->Serve(control_, {});
  }

  /// The head of the answer to a request with these lines before the empty one.
  std::string Head(const std::string& lines) {
    Client client(server_->port());
    client.Send(lines + "\r\n");
    return client.ReceiveUntil("\r\n\r\n") + "\r\n";
  }

  FakeControl control_;
  std::unique_ptr<HttpServer> server_;
};

// Plan: the page, a document, its head alone, a feed of events, and what is refused: another
// method, another path, another host's name, a page of another origin. All have the headers; the
// page alone has a policy for what it may load itself.
TEST_F(HeadersTest, LetNoOtherPageUseAnAnswer) {
  const std::string own = "Host: 127.0.0.1\r\n";
  const std::pair<std::string, int> requests[] = {
      {"GET / HTTP/1.1\r\n" + own, 200},
      {"GET /v1/status HTTP/1.1\r\n" + own, 200},
      {"HEAD /v1/status HTTP/1.1\r\n" + own, 200},
      {"GET /v1/events HTTP/1.1\r\nAccept: text/event-stream\r\n" + own, 200},
      {"POST /v1/status HTTP/1.1\r\n" + own, 405},
      {"GET /nothing HTTP/1.1\r\n" + own, 404},
      {"GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n", 421},
      {"GET /v1/status HTTP/1.1\r\nOrigin: http://evil.example\r\n" + own, 403},
  };
  for (const auto& [lines, status] : requests) {
    SCOPED_TRACE(lines);
    const std::string head = Head(lines);
    EXPECT_EQ(StatusOf(head), status);
    EXPECT_EQ(HeaderOf(head, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(HeaderOf(head, "Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(HeaderOf(head, "Cross-Origin-Opener-Policy"), "same-origin");
    EXPECT_EQ(HeaderOf(head, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(HeaderOf(head, "Cache-Control"), "no-store");
    EXPECT_EQ(HeaderOf(head, "Access-Control-Allow-Origin"), "");
    const bool page = lines.starts_with("GET / ");
    EXPECT_EQ(HeaderOf(head, "Content-Security-Policy").empty(), !page);
  }
}

}  // namespace
}  // namespace baton::http
