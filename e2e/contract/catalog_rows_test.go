package contract

import (
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// catalogRows are the operations on the catalog. Every caller reads the objects that its permissions allow. Changes
// need at least the role operator, and permissions on the object.
func catalogRows() map[string]row {
	all := map[string]row{
		"launch-template":            {least: identity.Viewer, status: 404, missing: "template_not_found"},
		"list-project-files":         {least: identity.Viewer, status: 404, missing: "project_not_found"},
		"get-project-file":           {least: identity.Viewer, query: "?path=a", status: 404, missing: "project_not_found"},
		"list-project-commits":       {least: identity.Viewer, query: "?from=a", status: 404, missing: "project_not_found"},
		"list-inventory-hosts":       {least: identity.Viewer, status: 404, missing: "inventory_not_found"},
		"list-inventory-versions":    {least: identity.Viewer, status: 404, missing: "inventory_not_found"},
		"get-inventory-version":      {least: identity.Viewer, status: 404, missing: "inventory_not_found"},
		"compare-inventory-versions": {least: identity.Viewer, status: 404, missing: "inventory_not_found"},
		"resolve-inventory": {least: identity.Viewer, body: harness.Body{"limit": "a"}, status: 404,
			missing: "inventory_not_found"},
		"sync-project":             {least: identity.Operator, status: 404, missing: "project_not_found"},
		"refresh-inventory-source": {least: identity.Operator, status: 404, missing: "inventory_source_not_found"},
		"list-trigger-deliveries":  {least: identity.Viewer, status: 404, missing: "trigger_not_found"},
		"rotate-trigger-secret":    {least: identity.Operator, status: 404, missing: "trigger_not_found"},
		"preview-schedule":         {least: identity.Viewer, query: "?cron=@daily", status: 200},
		"deliver-hook":             {status: 404, body: "{}"},
		"import-export":            {least: identity.Admin, body: "{}", status: 400},
		"get-doctor":               {least: identity.Admin, status: 200},
		"get-license":              {least: identity.Admin, status: 200},
	}
	const absentID = "00000000000000000000000000"
	bodies := map[string]harness.Body{
		"project":   {"name": "x", "repo_url": "https://git.example.org/x.git"},
		"inventory": {"name": "x", "content": "a\n", "format": "ini"},
		"inventory-source": {"name": "x", "kind": "http", "config": harness.Body{"url": "https://example.org/hosts"},
			"inventory_id": "inv_" + absentID},
		"template": {"name": "x", "tool": "bash", "command": "true"},
		"schedule": {"name": "x", "cron": "@daily", "template_id": "tpl_" + absentID},
		"trigger":  {"name": "x", "template_id": "tpl_" + absentID},
	}
	plural := map[string]string{
		"project": "projects", "inventory": "inventories", "inventory-source": "inventory-sources", "template": "templates",
		"schedule": "schedules", "trigger": "triggers",
	}
	for noun, body := range bodies {
		missing := noun + "_not_found"
		if noun == "inventory-source" {
			missing = "inventory_source_not_found"
		}
		bad := harness.Body{"name": ""}
		for k, v := range body {
			if k != "name" {
				bad[k] = v
			}
		}
		all["create-"+noun] = row{least: identity.Operator, body: bad, status: 400}
		all["list-"+plural[noun]] = row{least: identity.Viewer, status: 200}
		all["get-"+noun] = row{least: identity.Viewer, status: 404, missing: missing}
		all["update-"+noun] = row{least: identity.Operator, body: body, status: 404, missing: missing}
		if noun == "template" || noun == "inventory-source" || noun == "schedule" {
			all["compare-"+noun] = row{least: identity.Operator, body: body, status: 404, missing: missing}
		}
		all["delete-"+noun] = row{least: identity.Operator, status: 404, missing: missing}
	}
	return all
}
