// Sockets that child processes don't inherit. Otherwise a program that this process starts (`batond
// run`) could take this process's connections, and read the tokens of their callers. It would also
// keep the port from other processes.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <optional>

namespace baton::http {

/// Opens the acceptor, without bind or listen. If this fails, sets `error`. REQUIRES: the acceptor
/// is closed.
void OpenUninherited(boost::asio::ip::tcp::acceptor& acceptor, const boost::asio::ip::tcp& protocol,
                     boost::system::error_code& error);

/// Takes a connection that waits, and does not wait for one. nullopt without an error: no
/// connection waits, or the waiting connection was lost. Then wait for the acceptor again. nullopt
/// with an error: the connection can't be taken, for example because this process has no descriptor
/// left. REQUIRES: the acceptor was opened by OpenUninherited, and listens.
std::optional<boost::asio::ip::tcp::socket> TakeConnection(boost::asio::ip::tcp::acceptor& acceptor,
                                                           boost::system::error_code& error);

}  // namespace baton::http
