package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secret"
)

// Variables for the secrets of the server's own accounts. There are no flags for them, since other users of the machine
// can read flags.
const (
	smtpPasswordEnv = "WRIT_SMTP_PASSWORD"
	twilioTokenEnv  = "WRIT_TWILIO_TOKEN"
)

// notifyFlags are the flags for the targets of every run, beside the settings of the accounts that send mail and
// messages.
type notifyFlags struct {
	targets map[string]*[]string // by kind
	on      string
}

func (f *notifyFlags) register(fs *pflag.FlagSet, n *compose.Notify) {
	f.targets = make(map[string]*[]string)
	for _, k := range notify.Kinds() {
		list := new([]string)
		f.targets[k.Name] = list
		fs.StringArrayVar(list, "notify-"+k.Name, nil, fmt.Sprintf("notify this %s of every run (repeatable)", target(k)))
	}
	fs.StringVar(&f.on, "notify-on", "finish",
		"runs that the targets of these flags are notified of: finish (all) or failure")
	fs.StringVar(&n.SMTP.Addr, "smtp-addr", "", "`host:port` of the mail server (port 465 uses TLS from the start)")
	fs.StringVar(&n.SMTP.From, "smtp-from", "", "sender `address` of mail")
	fs.StringVar(&n.SMTP.Username, "smtp-username", "",
		"`account` at the mail server (its password: "+smtpPasswordEnv+")")
	fs.StringVar(&n.Twilio.SID, "twilio-sid", "", "`account` that sends SMS (its token: "+twilioTokenEnv+")")
	fs.StringVar(&n.Twilio.From, "twilio-from", "", "sender `number` or messaging service of SMS")
}

// target returns the form of a target for the help text of a kind's flag.
func target(k notify.Kind) string {
	switch strings.Join(k.Required, ",") {
	case "url":
		return k.Name + " `URL`"
	case "key":
		return k.Name + " routing `KEY`"
	case "url,key":
		return k.Name + " `URL,KEY`"
	default:
		return k.Name + " recipient, `TO`"
	}
}

// complete sets the secrets and the targets.
func (f *notifyFlags) complete(n *compose.Notify, w environment) error {
	n.SMTP.Password, n.Twilio.Token = secret.Text(w.env(smtpPasswordEnv)), secret.Text(w.env(twilioTokenEnv))
	switch f.on {
	case "finish":
	case "failure":
		n.OnFailure = true
	default:
		return fmt.Errorf("notify-on: expected finish or failure")
	}
	for _, k := range notify.Kinds() {
		for _, provided := range *f.targets[k.Name] {
			// A variable of the environment holds several on a line each.
			for text := range strings.Lines(provided) {
				if text = strings.TrimSpace(text); text == "" {
					continue
				}
				t, err := serverTarget(k, text)
				if err != nil {
					return err
				}
				n.Targets = append(n.Targets, t)
			}
		}
	}
	return nil
}

// serverTarget reads the target of a flag. Its error does not contain the target.
func serverTarget(k notify.Kind, text string) (notify.Target, error) {
	t := notify.Target{Kind: k.Name}
	switch strings.Join(k.Required, ",") {
	case "url":
		t.URL = secret.Text(text)
	case "key":
		t.Key = secret.Text(text)
	case "url,key":
		at := strings.LastIndexByte(text, ',')
		if at < 0 {
			return t, fmt.Errorf("notify-%s: expected URL,KEY", k.Name)
		}
		t.URL, t.Key = secret.Text(text[:at]), secret.Text(text[at+1:])
	default:
		t.To = text
	}
	return t, nil
}
