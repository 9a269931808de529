// gRPC's reflection: a service that lists the server's services and messages to every caller.
#pragma once

#include "baton/result.h"

namespace baton::app {

/// Makes every gRPC server that this process builds later offer reflection. Loads gRPC's library,
/// which then adds the service to each server by itself; so this can't be undone. kUnavailable: the
/// library can't be loaded. Any thread; a second call changes nothing and succeeds.
Status OfferReflection();

}  // namespace baton::app
