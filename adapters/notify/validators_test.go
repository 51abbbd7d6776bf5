package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// mention matches what chat services treat as a mention in plain text.
var mention = regexp.MustCompile(`@[a-z]`)

var hexColour = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// These are the messages as the services document them. A member that is missing here is unknown to the service.
type (
	attachment struct {
		Color    string    `json:"color"`
		Fallback string    `json:"fallback"`
		Text     string    `json:"text"`
		Fields   []field   `json:"fields"`
		Footer   string    `json:"footer"`
		TS       int64     `json:"ts"`
		MrkdwnIn *[]string `json:"mrkdwn_in"`
	}
	field struct {
		Title string `json:"title"`
		Value string `json:"value"`
		Short *bool  `json:"short"`
	}
	chatMessage struct {
		Text        string       `json:"text"`
		Mrkdwn      *bool        `json:"mrkdwn"`
		Attachments []attachment `json:"attachments"`
	}
)

func (m chatMessage) check() (string, error) {
	out := []string{m.Text}
	if len(m.Attachments) != 1 {
		return "", fmt.Errorf("%d attachments", len(m.Attachments))
	}
	a := m.Attachments[0]
	if !hexColour.MatchString(a.Color) || len(a.Fields) == 0 || m.Text == "" && (a.Fallback == "" || a.Text == "") {
		return "", errors.New("a member of the attachment is missing")
	}
	out = append(out, a.Text)
	for _, f := range a.Fields {
		if f.Title == "" || f.Value == "" || f.Short == nil {
			return "", fmt.Errorf("the field %q lacks a member", f.Title)
		}
		out = append(out, f.Title+": "+f.Value)
	}
	return strings.Join(out, "\n"), nil
}

var slackEntity = regexp.MustCompile(`&(amp|lt|gt);`)

func validateSlack(r *http.Request, body []byte) (string, error) {
	var m chatMessage
	if err := strict(r, body, &m); err != nil {
		return "", err
	}
	text, err := m.check()
	switch {
	case err != nil:
		return "", err
	case m.Mrkdwn == nil || *m.Mrkdwn || m.Attachments[0].MrkdwnIn == nil || len(*m.Attachments[0].MrkdwnIn) > 0:
		return "", errors.New("formatting is on")
	case strings.ContainsAny(slackEntity.ReplaceAllString(text+m.Attachments[0].Fallback, ""), "&<>"):
		return "", fmt.Errorf("not escaped: %q", text)
	case len(m.Text) > 40_000:
		return "", errors.New("msg_too_long")
	}
	return text, nil
}

func validateMattermost(r *http.Request, body []byte) (string, error) {
	var m chatMessage
	if err := strict(r, body, &m); err != nil {
		return "", err
	}
	if m.Mrkdwn != nil || len(m.Attachments) != 1 || m.Attachments[0].MrkdwnIn != nil ||
		utf8.RuneCountInString(m.Text) > 16383 {
		return "", errors.New("a member of another service, or too long")
	}
	if mention.MatchString(m.Attachments[0].Fallback) {
		return "", errors.New("the fallback mentions somebody")
	}
	return m.check()
}

func validateRocketChat(r *http.Request, body []byte) (string, error) {
	var m chatMessage
	if err := strict(r, body, &m); err != nil {
		return "", err
	}
	if m.Mrkdwn != nil || m.Text == "" {
		return "", errors.New("a member of another service, or no text")
	}
	return m.check()
}

func chars(s string) int { return len(utf16.Encode([]rune(s))) }

func validateDiscord(r *http.Request, body []byte) (string, error) {
	var m struct {
		Embeds []struct {
			Title  string `json:"title"`
			Color  int    `json:"color"`
			Fields []struct {
				Name   string `json:"name"`
				Value  string `json:"value"`
				Inline bool   `json:"inline"`
			} `json:"fields"`
			Footer struct {
				Text string `json:"text"`
			} `json:"footer"`
			Timestamp string `json:"timestamp"`
		} `json:"embeds"`
		AllowedMentions *struct {
			Parse *[]string `json:"parse"`
		} `json:"allowed_mentions"`
	}
	if err := strict(r, body, &m); err != nil {
		return "", err
	}
	if m.AllowedMentions == nil || m.AllowedMentions.Parse == nil || len(*m.AllowedMentions.Parse) > 0 {
		return "", errors.New("mentions are allowed")
	}
	if len(m.Embeds) != 1 {
		return "", errors.New("not one embed")
	}
	e := m.Embeds[0]
	if e.Title == "" || chars(e.Title) > 256 || len(e.Fields) > 25 || e.Color < 0 || e.Color > 0xffffff {
		return "", fmt.Errorf("the limits of an embed: a title of %d, %d fields", chars(e.Title), len(e.Fields))
	}
	if _, err := time.Parse(time.RFC3339, e.Timestamp); e.Timestamp != "" && err != nil {
		return "", err
	}
	all, out := chars(e.Title)+chars(e.Footer.Text), e.Title
	for _, f := range e.Fields {
		if f.Name == "" || f.Value == "" || chars(f.Name) > 256 || chars(f.Value) > 1024 {
			return "", fmt.Errorf("the limits of the field %q: %d", f.Name, chars(f.Value))
		}
		all += chars(f.Name) + chars(f.Value)
		out += "\n" + f.Name + ": " + f.Value
	}
	if all > 6000 {
		return "", fmt.Errorf("%d characters in all", all)
	}
	return out, nil
}

type cardElement struct {
	Type    string        `json:"type"`
	Style   string        `json:"style"`
	Spacing string        `json:"spacing"`
	Items   []cardElement `json:"items"`
	Inlines []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Weight string `json:"weight"`
		Size   string `json:"size"`
	} `json:"inlines"`
}

func (e cardElement) read() (string, error) {
	out := ""
	switch e.Type {
	case "Container":
		if len(e.Items) == 0 || !slices.Contains([]string{"", "good", "attention", "warning", "accent"}, e.Style) {
			return "", fmt.Errorf("a container of style %q and %d items", e.Style, len(e.Items))
		}
	case "RichTextBlock":
		if len(e.Inlines) == 0 {
			return "", errors.New("a block without text")
		}
	default:
		return "", fmt.Errorf("an element of type %q, whose text would be markdown", e.Type)
	}
	for _, i := range e.Inlines {
		if i.Type != "TextRun" || i.Text == "" {
			return "", errors.New("a run without text")
		}
		out += i.Text
	}
	for _, i := range e.Items {
		text, err := i.read()
		if err != nil {
			return "", err
		}
		out += text + "\n"
	}
	return out, nil
}

func validateTeams(r *http.Request, body []byte) (string, error) {
	var m struct {
		Type        string `json:"type"`
		Attachments []struct {
			ContentType string `json:"contentType"`
			Content     struct {
				Schema       string        `json:"$schema"`
				Type         string        `json:"type"`
				Version      string        `json:"version"`
				FallbackText string        `json:"fallbackText"`
				Body         []cardElement `json:"body"`
			} `json:"content"`
		} `json:"attachments"`
	}
	if err := strict(r, body, &m); err != nil {
		return "", err
	}
	if m.Type != "message" || len(m.Attachments) != 1 ||
		m.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" || len(body) > 28<<10 {
		return "", fmt.Errorf("no envelope of one card, or too large: %d", len(body))
	}
	card := m.Attachments[0].Content
	if card.Type != "AdaptiveCard" || card.Version == "" ||
		card.Schema != "http://adaptivecards.io/schemas/adaptive-card.json" {
		return "", errors.New("no adaptive card")
	}
	out := card.FallbackText
	for _, e := range card.Body {
		text, err := e.read()
		if err != nil {
			return "", err
		}
		out += "\n" + text
	}
	return out, nil
}

func validateNtfy(r *http.Request, body []byte) (string, error) {
	title := r.Header.Get("Title")
	if strings.ContainsFunc(title, func(r rune) bool { return r > '~' || r < ' ' }) || title == "" {
		return "", fmt.Errorf("the title is %q", title)
	}
	title, err := new(mime.WordDecoder).DecodeHeader(title)
	switch {
	case err != nil:
		return "", err
	case !slices.Contains([]string{"default", "high"}, r.Header.Get("Priority")):
		return "", fmt.Errorf("the priority is %q", r.Header.Get("Priority"))
	case !slices.Contains([]string{"white_check_mark", "x", "warning", "hourglass"}, r.Header.Get("Tags")):
		return "", fmt.Errorf("the tags are %q", r.Header.Get("Tags"))
	case len(body) == 0 || len(body) > 4096 || !utf8.Valid(body):
		return "", fmt.Errorf("a message of %d bytes", len(body))
	}
	return title + "\n" + string(body), nil
}

func validatePagerDuty(r *http.Request, body []byte) (string, error) {
	var m struct {
		RoutingKey  string `json:"routing_key"`
		EventAction string `json:"event_action"`
		DedupKey    string `json:"dedup_key"`
		Client      string `json:"client"`
		Payload     struct {
			Summary       string            `json:"summary"`
			Source        string            `json:"source"`
			Severity      string            `json:"severity"`
			Timestamp     string            `json:"timestamp"`
			CustomDetails map[string]string `json:"custom_details"`
		} `json:"payload"`
	}
	if err := strict(r, body, &m); err != nil {
		return "", err
	}
	p := m.Payload
	switch {
	case m.RoutingKey != key || m.EventAction != "trigger" || m.DedupKey == "" || chars(m.DedupKey) > 255:
		return "", errors.New("the event lacks a member")
	case p.Summary == "" || chars(p.Summary) > 1024 || p.Source == "" ||
		!slices.Contains([]string{"critical", "error", "warning", "info"}, p.Severity):
		return "", fmt.Errorf("the payload lacks a member: %+v", p)
	}
	details, err := json.Marshal(p.CustomDetails)
	var text strings.Builder
	for k, v := range p.CustomDetails {
		text.WriteString(k + ": " + v + "\n")
	}
	if err != nil || len(details) > 512<<10 {
		return "", errors.New("the details are too large")
	}
	lines := strings.Split(text.String(), "\n")
	slices.Sort(lines)
	return p.Summary + "\n" + p.Severity + strings.Join(lines, "\n"), nil
}

func validateGrafana(r *http.Request, body []byte) (string, error) {
	var m struct {
		Time    int64    `json:"time"`
		TimeEnd int64    `json:"timeEnd"`
		Tags    []string `json:"tags"`
		Text    string   `json:"text"`
	}
	if err := strict(r, body, &m); err != nil {
		return "", err
	}
	switch {
	case r.Header.Get("Authorization") != "Bearer "+key:
		return "", errors.New("no token")
	case m.Text == "" || m.TimeEnd < m.Time || len(strings.Join(m.Tags, "")) > 500:
		return "", errors.New("the annotation lacks a member")
	}
	return m.Text + "\n" + strings.Join(m.Tags, " "), nil
}

func validateTwilio(r *http.Request, body []byte) (string, error) {
	user, password, ok := r.BasicAuth()
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded":
		return "", errors.New("no form")
	case !ok || user != sid || password != token:
		return "", errors.New("no account")
	case len(form) != 3 || form.Has("From") == form.Has("MessagingServiceSid"):
		return "", errors.New("a parameter is missing, or one too many is there")
	case !regexp.MustCompile(`^\+[1-9][0-9]{1,14}$`).MatchString(form.Get("To")):
		return "", errors.New("the number is not valid")
	case form.Get("Body") == "" || chars(form.Get("Body")) > 1600:
		return "", fmt.Errorf("a body of %d characters", chars(form.Get("Body")))
	}
	return form.Get("Body"), nil
}

func validateWebhook(r *http.Request, body []byte) (string, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return "", err
	}
	if r.Header.Get("Content-Type") != "application/json" || string(m["event"]) != `"`+r.Header.Get("Writ-Event")+`"` ||
		r.Header.Get("Writ-Signature") != signature(body) {
		return "", errors.New("a header is missing")
	}
	return string(body), nil
}
