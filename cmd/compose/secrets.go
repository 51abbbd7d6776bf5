package compose

import (
	"fmt"
	"maps"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/goplugin"
	httpnotify "github.com/writ-automation/writ/adapters/httpapi/notify"
	httpsecrets "github.com/writ-automation/writ/adapters/httpapi/secrets"
	"github.com/writ-automation/writ/adapters/metrics"
	adapternotify "github.com/writ-automation/writ/adapters/notify"
	"github.com/writ-automation/writ/adapters/secrets/agent"
	"github.com/writ-automation/writ/adapters/secrets/awssm"
	"github.com/writ-automation/writ/adapters/secrets/azurekv"
	"github.com/writ-automation/writ/adapters/secrets/envvar"
	"github.com/writ-automation/writ/adapters/secrets/gcpsm"
	"github.com/writ-automation/writ/adapters/secrets/localfile"
	"github.com/writ-automation/writ/adapters/secrets/sshkey"
	"github.com/writ-automation/writ/adapters/secrets/vault"
	notifymodule "github.com/writ-automation/writ/modules/notify"
	secretsmodule "github.com/writ-automation/writ/modules/secrets"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
)

// credentials provides the store of secrets, their use in runs, and their REST operations.
func credentials(s *Settings) fx.Option {
	return fx.Options(runSecrets(&s.Install, s.ReadOnly), agents(), httpsecrets.Module)
}

// runSecrets provides the secrets of runs. A process that leaves leftovers to others revokes no minted secrets of other
// processes.
func runSecrets(i *Install, leftovers bool) fx.Option {
	return fx.Options(
		fx.Supply(secretsmodule.Config{ReadOnly: leftovers}),
		fx.Module("engines", fx.Provide(
			func(h *goplugin.Host) (map[string]extension.Engine, error) { return engines(i, h) },
			func() secrets.KeyReader { return sshkey.New() },
		)),
		secretsmodule.Module,
	)
}

// agents serve the private keys of runs.
func agents() fx.Option {
	return fx.Module("agents", fx.Provide(func() secrets.Agents { return agent.New(agent.Config{}) }))
}

// engines lists every built-in secret engine, one line each, and adds those that extensions registered. Registration
// ends here. Engines often live in the own network, so that private addresses are allowed for them.
func engines(i *Install, plugins *goplugin.Host) (map[string]extension.Engine, error) {
	private := egress.Policy{Level: egress.PrivateAllowed}
	env, err := envvar.New(envvar.Config{Pattern: i.Secrets.Env})
	if err != nil {
		return nil, fmt.Errorf("secret-env: %w", err)
	}
	files, err := localfile.New(localfile.Config{Dir: i.Secrets.Files})
	if err != nil {
		return nil, fmt.Errorf("secret-files: %w", err)
	}
	out := map[string]extension.Engine{
		"vault":              {Resolver: vault.NewKV(vault.Config{Policy: private})},
		"vault_dynamic":      {Minter: vault.NewDynamic(vault.Config{Policy: private})},
		"aws_secretsmanager": {Resolver: awssm.New(awssm.Config{Policy: private})},
		"gcp_secretmanager":  {Resolver: gcpsm.New(gcpsm.Config{Policy: private})},
		"azure_keyvault":     {Resolver: azurekv.New(azurekv.Config{Policy: private})},
		"env":                {Resolver: env},
		"file":               {Resolver: files},
	}
	maps.Copy(out, extension.SecretEngines.Freeze())
	maps.Copy(out, plugins.Engines())
	return out, nil
}

// notifications provides the targets of notifications and the record of deliveries.
func notifications(s *Settings) fx.Option {
	return fx.Options(
		fx.Supply(notifymodule.Config{Server: s.Notify.Targets, OnFailure: s.Notify.OnFailure, PublicURL: s.public(),
			ReadOnly: s.ReadOnly}),
		fx.Module("channels", fx.Provide(
			fx.Annotate(func() ([]notify.Channel, error) { return channels(s) },
				fx.ResultTags(`group:"notify.channels,flatten"`)),
			notifiers,
			metrics.NewNotifications,
			func(m *metrics.Notifications) notify.Meter { return m },
		)),
		notifymodule.Module, httpnotify.Module,
	)
}

// notifiers lists the notifiers that extensions registered, and those of plugins. Registration ends here.
func notifiers(plugins *goplugin.Host) map[string]extension.Notifier {
	out := extension.Notifiers.Freeze()
	maps.Copy(out, plugins.Notifiers())
	return out
}

// channels provides the senders to targets. Every user who may submit runs can name a target, so private addresses need
// an explicit permission.
func channels(s *Settings) ([]notify.Channel, error) {
	n := &s.Notify
	list, err := adapternotify.New(adapternotify.Config{
		Egress: egress.Policy{Allow: s.AllowPrivate}, Version: s.Info.Version,
		Twilio: adapternotify.Twilio{SID: n.Twilio.SID, Token: n.Twilio.Token, From: n.Twilio.From},
		SMTP: adapternotify.SMTP{Addr: n.SMTP.Addr, From: n.SMTP.From, Username: n.SMTP.Username,
			Password: n.SMTP.Password},
	})
	if err != nil {
		return nil, fmt.Errorf("notifications: %w", err)
	}
	return list, nil
}
