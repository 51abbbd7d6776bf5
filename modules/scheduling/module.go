package scheduling

import "go.uber.org/fx"

// Module provides the planner. It needs a clock and the server's *time.Location.
var Module = fx.Module("scheduling", fx.Provide(NewPlanner))
