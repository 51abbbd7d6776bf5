package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	adapter "github.com/writ-automation/writ/adapters/notify"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/notify/notifytest"
	"github.com/writ-automation/writ/ports/secret"
)

// These are the secrets of all tests.
const (
	key   = "c4naryKEY0123456789abcdef"
	token = "c4naryTOKEN0123456789abcdef"
	sid   = "AC0123456789abcdef0123456789abcdef"
	way   = "/c4naryTEAM1/c4naryBOT22/c4naryPATH0123456789abcdef"
)

func signature(body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// place describes the fake service of a kind.
type place struct {
	path     string
	suffix   string // path of the target's address on the server
	validate validator
	harmful  []string
}

func places() map[string]place {
	chat := []string{"@everyone", "@here", "@channel", "@all", "](http", "<http", "<script"}
	return map[string]place{
		"webhook": {way, way, validateWebhook, nil},
		"slack": {"/services" + way, "/services" + way, validateSlack,
			append(chat[:4:4], "<!", "<@", "<#", "<http", "<script")},
		"mattermost": {"/hooks" + way, "/hooks" + way, validateMattermost, append([]string{"**bold"}, chat[:5]...)},
		"rocketchat": {"/hooks" + way, "/hooks" + way, validateRocketChat, chat},
		"discord": {"/api/webhooks" + way, "/api/webhooks" + way, validateDiscord,
			append(chat[:5:5], "<@U", "<#C", "https:/", "||spoiler")},
		"teams": {"/workflows" + way, "/workflows" + way + "?sig=c4nary%2BSIG0123456789", validateTeams,
			[]string{"<at>", "{{", "@everyone"}},
		"ntfy":      {way, way, validateNtfy, nil},
		"pagerduty": {"/v2/enqueue", "", validatePagerDuty, nil},
		"grafana":   {way + "/api/annotations", way, validateGrafana, []string{"<script", "<http", "<at>"}},
		"twilio":    {"/2010-04-01/Accounts/" + sid + "/Messages.json", "", validateTwilio, nil},
	}
}

// connect starts the service of a kind that uses HTTP.
func connect(t testing.TB, kind string, edit ...func(*adapter.Config)) (notify.Channel, *counterpart, notify.Target) {
	t.Helper()
	p := places()[kind]
	s := serve(t, p.path, p.validate)
	c := adapter.Config{
		Egress: home(), PagerDuty: s.url, Version: "1.2.3",
		Twilio: adapter.Twilio{SID: sid, Token: token, From: "+15550002222", BaseURL: s.url},
	}
	for _, fn := range edit {
		fn(&c)
	}
	to := notify.Target{Kind: kind}
	k, _ := notify.KindOf(kind)
	for _, member := range k.Required {
		switch member {
		case "url":
			to.URL = secret.Text(s.url + p.suffix)
		case "key":
			to.Key = key
		case "to":
			to.To = "+15550001111"
		}
	}
	if kind == "webhook" {
		to.Key = key
	}
	return channel(t, kind, c), s, to
}

// TestChannels runs the contract suite for every kind.
func TestChannels(t *testing.T) {
	t.Parallel()
	for _, k := range notify.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			if k.Name == "email" {
				notifytest.Channel(t, openMail)
				return
			}
			notifytest.Channel(t, func(t *testing.T) notifytest.ChannelUnderTest {
				c, s, to := connect(t, k.Name)
				return notifytest.ChannelUnderTest{Channel: c, Outside: notifytest.Outside{
					Target: to, Harmful: places()[k.Name].harmful, Behave: s.behave, Heard: s.heard,
					Secrets: []string{key, token, sid, way, "c4nary", "c4naryTEAM1", "+SIG0123456789", "15550001111", "15550002222"},
				}}
			})
		})
	}
}
