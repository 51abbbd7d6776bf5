package settings

import (
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/system"
)

// The texts of the page of extensions.
const (
	extensionsWhy = "An extension adds tools, notifiers, secret engines and AI providers. Put an executable plugin into " +
		"a directory, name it with --plugins-dir, and start the server again."
	extensionsLink  = "How to write and install a plugin"
	extensionsScope = "These are the extensions of the server that answers. Workers have plugins of their own. An error " +
		"has more lines in the server's log."
)

// extensionsText counts the extensions, and those that do not run.
func extensionsText(list []system.Extension) string {
	if len(list) == 0 {
		return "Nothing is added to this server."
	}
	bad := 0
	for _, e := range list {
		if e.State == system.ExtensionFailed || e.State == system.ExtensionRestarting {
			bad++
		}
	}
	out := shell.Plural(len(list), "extension") + ". "
	if bad == 0 {
		return out + "Each of them runs."
	}
	return out + shell.Plural(bad, "extension does", "extensions do") + " not run."
}

// kindText names what an extension adds.
func kindText(k system.ExtensionKind) string {
	switch k {
	case system.ToolExtension:
		return "tool"
	case system.NotifierExtension:
		return "notifier"
	case system.EngineExtension:
		return "secret engine"
	case system.ProviderExtension:
		return "AI provider"
	}
	return string(k)
}
