package jenkins

import (
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/reserved"
)

// property reads a property of a job.
func (w *work) property(e *document.Element) {
	switch name := simple(e.Name); name {
	case "ParametersDefinitionProperty":
		for _, list := range e.Children {
			w.parameters(list)
		}
	case "PipelineTriggersJobProperty":
		w.triggers(e.Child("triggers"))
		w.rest(e, "triggers")
	case "DisableConcurrentBuildsJobProperty":
		*w.t.MaxConcurrent = 1
		draft.Map(w.o, "One run executes at a time.")
		w.rest(e)
	case "ThrottleJobProperty":
		w.throttle(e)
	case "BuildDiscarderProperty":
		w.lose(e, "How long builds are kept is left out; the server keeps runs by its own settings.")
	case "AuthorizationMatrixProperty":
		w.lose(e, "The permissions of the job are left out; grant teams the use of the template.")
	case "EnvInjectJobProperty":
		w.injected(e)
	case "HudsonNotificationProperty", "WebhookJobProperty":
		w.webhooks(e)
	case "GithubProjectProperty", "GitLabConnectionProperty", "PreserveLibrariesProperty", "JobConfigHistory":
		if isSet(e) {
			w.lose(e, "The setting %s is left out; it does not change what the job does.", name)
		}
	default:
		if isSet(e) {
			w.lose(e, "The property %s has no counterpart and is left out.", name)
		}
	}
}

// throttle reads how many builds run at a time.
func (w *work) throttle(e *document.Element) {
	if e.Value("throttleEnabled") == "false" {
		return
	}
	if n, err := strconv.Atoi(e.Value("maxConcurrentTotal")); err == nil && allowed(n) {
		*w.t.MaxConcurrent, w.throttled = n, true
		draft.Map(w.o, "The most concurrent builds became the most concurrent runs.")
	}
	if n := e.Value("maxConcurrentPerNode"); n != "" && n != "0" {
		warn(w.o, "maxConcurrentPerNode", "The limit of builds of each node is left out.")
	}
	w.rest(e, "maxConcurrentTotal", "maxConcurrentPerNode", "throttleEnabled", "throttleOption", "paramsToUseForLimit")
}

// injected reads variables of the environment.
func (w *work) injected(e *document.Element) {
	info := e.Child("info")
	for line := range strings.Lines(info.Value("propertiesContent")) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		field := short(e.Name) + "/" + cut(name, 100)
		switch {
		case name != identifier(name) || reserved.Variable(name):
			need(w.o, field, "The name of the variable is not possible or reserved; it is left out.")
		case secretName(name):
			need(w.o, field, "The variable is left out because it may be a secret; use a credential.")
		case len(w.exports) >= 500 || len(value) > maxField/8:
			need(w.o, field, "There are too many variables, or it is too large; it is left out.")
		default:
			w.exports = append(w.exports, export{name: name, text: strings.TrimSpace(value)})
			if strings.Contains(value, "$") {
				need(w.o, field, "The value names another variable, which is not replaced.")
			}
		}
	}
	if info != nil {
		w.rest(info, "propertiesContent", "loadFilesFromMaster")
	}
	w.rest(e, "info", "on", "keepJenkinsSystemVariables", "keepBuildVariables", "overrideBuildParameters")
}

// wrapper reads a wrapper of the build.
func (w *work) wrapper(e *document.Element) {
	switch name := simple(e.Name); name {
	case "BuildTimeoutWrapper":
		w.timeout(e)
	case "TimestamperBuildWrapper", "AnsiColorBuildWrapper":
		draft.Map(w.o, "The setting %s is not needed: output has colors, and its lines have times.", name)
	case "SecretBuildWrapper":
		for _, b := range children(e.Child("bindings")) {
			w.binding(b)
		}
		w.rest(e, "bindings")
	case "SSHAgentBuildWrapper":
		ids := literals(e.Child("credentialIds"))
		if user := e.Value("user"); user != "" {
			ids = append(ids, user)
		}
		for _, id := range ids {
			if w.full(e) {
				return
			}
			w.use(w.credential("ssh_key", strings.TrimSpace(id), nil, "The agent of SSH has it while the job runs."))
		}
		w.rest(e, "credentialIds", "user", "ignoreMissing")
	case "EnvInjectBuildWrapper":
		w.injected(e)
	case "PreBuildCleanup":
		draft.Map(w.o, "Each run starts in a fresh directory, so nothing has to be removed before it.")
	default:
		inside := ""
		if kinds := builders(e); len(kinds) > 0 {
			inside = " with the build steps in it: " + strings.Join(kinds, ", ")
		}
		w.lose(e, "The wrapper %s has no counterpart and is left out%s.", name, inside)
	}
}

// builders returns the types of the build steps below an element.
func builders(e *document.Element) []string {
	var out []string
	for _, c := range e.Children {
		switch name := simple(c.Name); {
		case len(out) > 20:
		case c.Child("command") != nil || strings.HasSuffix(name, "Builder") ||
			strings.HasPrefix(className(c.Name), "hudson.tasks."):
			out = append(out, name)
		default:
			out = append(out, builders(c)...)
		}
	}
	return out
}

// timeout reads after which time a build is stopped.
func (w *work) timeout(e *document.Element) {
	minutes := e.Value("strategy", "timeoutMinutes")
	kind := simple(e.Child("strategy").Attr("class"))
	if e.Child("strategy") == nil {
		minutes = e.Value("timeoutMinutes")
	}
	n, err := strconv.Atoi(minutes)
	if seconds := e.Value("strategy", "timeoutSecondsString"); kind == "NoActivityTimeOutStrategy" && seconds != "" {
		warn(w.o, short(e.Name), "There is no timeout for silence; the timeout is left out.")
		return
	}
	if err != nil || n < 1 || n > 1_000_000 || kind != "" && kind != "AbsoluteTimeOutStrategy" {
		warn(w.o, short(e.Name), "The timeout is not a fixed number of minutes and is left out.")
		return
	}
	w.t.Timeout = 60 * n
	draft.Map(w.o, "The timeout of %s holds for each step.", draft.Count(n, "minute"))
	w.rest(e, "strategy", "timeoutMinutes", "timeoutPercentage", "timeoutType", "operationList")
}

// binding makes a credential of a secret that a build finds in its environment.
func (w *work) binding(e *document.Element) {
	id := e.Value("credentialsId")
	if id == "" || w.full(e) {
		need(w.o, short(e.Name), "The binding names no credential, or there are too many; it is left out.")
		return
	}
	switch name := simple(e.Name); name {
	case "StringBinding":
		v := e.Value("variable")
		w.use(w.credential("token", id, map[string]any{"env_name": identifier(v)}, "Scripts find it in a variable."))
	case "UsernamePasswordMultiBinding", "UsernamePasswordBinding":
		c := w.credential("env", id, nil, "Enter the user name and the password as variables of the environment.")
		w.use(c)
		need(w.o, short(e.Name), "The credential %s has to set the variables %s.", c, list(e.Value("usernameVariable"),
			e.Value("passwordVariable"), e.Value("variable")))
	case "SSHUserPrivateKeyBinding":
		w.use(w.credential("ssh_key", id, nil, ""))
		need(w.o, short(e.Name), "The key is in the agent of SSH, and no variable names its file.")
	case "AmazonWebServicesCredentialsBinding":
		w.use(w.credential("aws", id, nil, ""))
	default:
		c := w.credential("env", id, nil, "Enter it as a variable of the environment.")
		w.use(c)
		need(w.o, short(e.Name), "The binding %s has no counterpart; the credential %s has to set %s.", name, c,
			list(e.Value("variable")))
	}
}

// list returns names with commas between them.
func list(names ...string) string {
	var out []string
	for _, n := range names {
		if n != "" {
			out = append(out, cut(n, 100))
		}
	}
	return strings.Join(out, ", ")
}

// publisher reads what follows a build.
func (w *work) publisher(e *document.Element) {
	switch name := simple(e.Name); name {
	case "Mailer":
		w.mail(e, e.Value("recipients"), true)
		w.rest(e, "recipients", "dontNotifyEveryUnstableBuild", "perModuleEmail")
	case "ExtendedEmailPublisher":
		w.mail(e, e.Value("recipientList"), !always(e))
		warn(w.o, short(e.Name), "The subject, the text and the conditions of the mail are left out.")
	case "BuildTrigger":
		w.downstream(e)
	case "MattermostNotifier":
		w.notify(e, "mattermost", e.Value("endpoint"))
	case "DiscordPublisher", "DiscordNotifier":
		w.notify(e, "discord", e.Value("webhookURL"))
	case "SlackNotifier":
		need(w.o, short(e.Name), "Slack is notified by an incoming webhook, which the job does not have; add it.")
	default:
		w.lose(e, "The step after the build %s has no counterpart and is left out.", name)
	}
}

// always reports whether mail is sent after every build or each success.
func always(e *document.Element) bool {
	for _, t := range children(e.Child("configuredTriggers")) {
		switch simple(t.Name) {
		case "AlwaysTrigger", "SuccessTrigger":
			return true
		}
	}
	return false
}

// mail adds the recipients of mail who are not variables.
func (w *work) mail(e *document.Element, recipients string, failures bool) {
	var to []string
	separator := func(r rune) bool { return strings.ContainsRune(" ,;\n", r) }
	for _, a := range strings.FieldsFunc(limited(recipients), separator) {
		name, host, ok := strings.Cut(strings.TrimSpace(a), "@")
		if ok && name != "" && host != "" && !strings.ContainsAny(a, "$<>()[]\\\"'\t\r") && len(a) < 250 && len(to) < 50 {
			to = append(to, strings.TrimSpace(a))
			continue
		}
		need(w.o, short(e.Name), "A recipient of the mail is no address and is left out.")
	}
	if len(to) == 0 {
		w.lose(e, "The mail has no recipients and is left out.")
		return
	}
	w.t.Notifications = append(w.t.Notifications, importer.Notification{
		Kind: "email", To: strings.Join(to, ","), OnFailure: failures,
	})
	draft.Map(w.o, "The recipients of mail became a notification.")
	if failures {
		warn(w.o, short(e.Name), "Jenkins also sends mail about the first success after a failure; here failures "+
			"are notified.")
	}
}

// webhooks adds the addresses that a property notifies.
func (w *work) webhooks(e *document.Element) {
	kind, lists := "webhook", e.Child("endpoints")
	if simple(e.Name) == "WebhookJobProperty" {
		kind, lists = "teams", e.Child("webhooks")
	}
	for _, target := range children(lists) {
		address := target.Value("url")
		if address == "" {
			address = target.Value("urlInfo", "urlOrId")
		}
		w.notify(target, kind, address)
	}
}

// notify adds a notification of an address, which is a secret.
func (w *work) notify(e *document.Element, kind, address string) {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") || len(address) > 4096 ||
		strings.ContainsAny(address, "$ \t\r\n") {
		need(w.o, short(e.Name), "The notification has no address of its own; add one of the kind %s.", kind)
		return
	}
	w.t.Notifications = append(w.t.Notifications, importer.Notification{Kind: kind, URL: address})
	warn(w.o, short(e.Name), "The notification became one of the kind %s; its text and its conditions differ.", kind)
}
