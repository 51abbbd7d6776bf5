package catalog

import "go.uber.org/fx"

// Module provides what reads inventories and surveys.
var Module = fx.Module("catalog", fx.Provide(NewInventories, NewSurveys))
