// Command opentofu is a plugin with the tool "tofu", which plans and applies configurations of OpenTofu. README.md says
// how to use it.
package main

import (
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin"
)

func main() {
	plugin.Serve(plugin.Extension{
		Tools: map[string]extension.ToolRunner{"tofu": extension.ToolRunnerFunc(runTofu)},
	})
}
