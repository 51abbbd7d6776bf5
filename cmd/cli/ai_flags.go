package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/extension"
)

// aiKeyEnv is the variable with the key of the AI provider. There is no flag, since other users of the machine can read
// flags.
const aiKeyEnv = "WRIT_AI_KEY"

func registerAI(fs *pflag.FlagSet, a *compose.AI) {
	fs.StringVar(&a.Provider, "ai-provider", "",
		"`name` of the AI provider: "+strings.Join(extension.BuiltinAIProviders(), ", ")+
			" or an extension; empty for none (its key: "+aiKeyEnv+")")
	fs.StringVar(&a.Model, "ai-model", "", "`name` of the model at the AI provider")
	fs.StringVar(&a.URL, "ai-url", "", "`address` of the AI provider (default its usual one)")
}
