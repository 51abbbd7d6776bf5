package notify

// slackBody is a message with one attachment. Formatting is off for all of it, so that nothing but the three escaped
// characters means anything.
func slackBody(r report) object {
	title := truncate(r.title, 2*maxSentence, forSlack)
	attachment := object{"color": r.tone.colour(), "fallback": title, "fields": fields(r, forSlack), "footer": "Writ",
		"mrkdwn_in": []string{}}
	if at := r.when(); !at.IsZero() {
		attachment["ts"] = at.Unix()
	}
	return object{"text": title, "mrkdwn": false, "attachments": []object{attachment}}
}
