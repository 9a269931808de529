// Sockets that child processes don't inherit. If a program that this process starts (`batond run`)
// had them, it could take connections that are meant for this process, and read the tokens of their
// callers. And while it lived, no other process could listen at the port.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <optional>

namespace baton::http {

/// Opens the acceptor. It does not bind or listen yet. If this fails, sets `error`. REQUIRES: the
/// acceptor is closed.
void OpenUninherited(boost::asio::ip::tcp::acceptor& acceptor, const boost::asio::ip::tcp& protocol,
                     boost::system::error_code& error);

/// Takes a connection that waits. Does not wait itself. nullopt without an error: no connection
/// waits any more. nullopt with an error: the connection can't be taken, for example because this
/// process has no descriptor left. REQUIRES: the acceptor was opened by OpenUninherited, and
/// listens.
std::optional<boost::asio::ip::tcp::socket> TakeConnection(boost::asio::ip::tcp::acceptor& acceptor,
                                                           boost::system::error_code& error);

}  // namespace baton::http
