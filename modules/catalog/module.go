package catalog

import "go.uber.org/fx"

// Module is the context as fx sees it.
var Module = fx.Module("catalog")
