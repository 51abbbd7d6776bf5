# Counts slowly, to watch a run live and to try "writ cancel" on it.
for n in $(seq 1 "${WRIT_VAR_UNTIL:-10}"); do
    echo "$n"
    sleep 1
done
