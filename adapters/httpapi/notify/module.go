package notify

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/notify"
)

// Module provides the routes in httpapi.Group, and the notify.Renderer. It needs a notify.Reader and a clock.
var Module = fx.Module("httpapi.notify",
	fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group)), fx.Annotate(NewRenderer, fx.As(new(notify.Renderer)))))
