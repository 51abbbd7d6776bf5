package cli

import (
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/secret"
)

// pluginEnvFlag is the flag of the variables that plugins get.
const pluginEnvFlag = "plugin-env"

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pluginEnv reads the variables of plugins, which are PLUGIN=VARIABLE, from the environment of this process. The values
// are by plugin and variable. Variables that Writ sets itself are errors, and so are those that are empty.
func pluginEnv(list []string, dir string, env func(string) string) (map[string]map[string]secret.Text, error) {
	out := map[string]map[string]secret.Text{}
	for _, text := range list {
		plugin, name, found := strings.Cut(text, "=")
		switch {
		case !found || plugin == "" || !variableName.MatchString(name):
			return nil, fmt.Errorf("%s: %q is not PLUGIN=VARIABLE", pluginEnvFlag, text)
		case dir == "":
			return nil, fmt.Errorf("%s: is of no use without plugins-dir", pluginEnvFlag)
		case name == "PATH" || name == "HOME" || strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "WRIT_"):
			return nil, fmt.Errorf("%s: %s is not for plugins: Writ uses PATH, HOME, PLUGIN_* and WRIT_* itself", pluginEnvFlag,
				name)
		case env(name) == "":
			return nil, fmt.Errorf("%s: the variable %s of the plugin %s is empty or not set", pluginEnvFlag, name, plugin)
		}
		if out[plugin] == nil {
			out[plugin] = map[string]secret.Text{}
		}
		out[plugin][name] = secret.Text(env(name))
	}
	return out, nil
}
