package compose

import (
	"io/fs"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web"
	webapprovals "github.com/writ-automation/writ/adapters/web/approvals"
	webask "github.com/writ-automation/writ/adapters/web/ask"
	webauth "github.com/writ-automation/writ/adapters/web/auth"
	webestate "github.com/writ-automation/writ/adapters/web/estate"
	webfleet "github.com/writ-automation/writ/adapters/web/fleet"
	webhelp "github.com/writ-automation/writ/adapters/web/help"
	webimports "github.com/writ-automation/writ/adapters/web/imports"
	weblaunch "github.com/writ-automation/writ/adapters/web/launch"
	webobjects "github.com/writ-automation/writ/adapters/web/objects"
	weboverview "github.com/writ-automation/writ/adapters/web/overview"
	webpolicies "github.com/writ-automation/writ/adapters/web/policies"
	webprojects "github.com/writ-automation/writ/adapters/web/projects"
	webrun "github.com/writ-automation/writ/adapters/web/run"
	webruns "github.com/writ-automation/writ/adapters/web/runs"
	webschedules "github.com/writ-automation/writ/adapters/web/schedules"
	websettings "github.com/writ-automation/writ/adapters/web/settings"
	webtrust "github.com/writ-automation/writ/adapters/web/trust"
	webworkflows "github.com/writ-automation/writ/adapters/web/workflows"
)

// pages lists the web interface: its frame, the manual, and a module for each section.
func pages(docs fs.FS) fx.Option {
	return fx.Options(web.Module, fx.Supply(webhelp.Pages{FS: docs}),
		weboverview.Module,
		webauth.Module,
		webruns.Module,
		webrun.Module,
		webapprovals.Module,
		weblaunch.Module,
		webworkflows.Module,
		webschedules.Module,
		webprojects.Module,
		webfleet.Module,
		webestate.Module,
		webtrust.Module,
		webpolicies.Module,
		websettings.Module,
		webimports.Module,
		webobjects.Module,
		webask.Module,
		webhelp.Module,
	)
}
