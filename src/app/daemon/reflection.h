// gRPC's reflection: a service that lists the server's services and messages to every caller.
#pragma once

#include "baton/result.h"

namespace baton::app {

/// Makes every gRPC server that this process builds later offer reflection. For this it loads a
/// library of gRPC, which adds the service to each server by itself. So this can't be undone.
/// kUnavailable: the library can't be loaded. Any thread. If it has succeeded once, another call
/// changes nothing and succeeds.
Status OfferReflection();

}  // namespace baton::app
