/** The rules that an operator would write for the tools of a suite: where each of them acts. */
export const rules = {
  banking: {
    send_money: { path: ["$recipient"] },
    schedule_transaction: { path: ["$recipient"] },
    update_scheduled_transaction: { path: ["$id", "$recipient?"] },
    read_file: { path: ["$file_path"] },
  },
  slack: {
    add_user_to_channel: { path: ["$channel", "$user"] },
    read_channel_messages: { path: ["$channel"] },
    read_inbox: { path: ["$user"] },
    send_direct_message: { path: ["$recipient"] },
    send_channel_message: { path: ["$channel"] },
    get_users_in_channel: { path: ["$channel"] },
    invite_user_to_slack: { path: ["$user_email"] },
    remove_user_from_slack: { path: ["$user"] },
    get_webpage: { path: ["$url"] },
    post_webpage: { path: ["$url"] },
  },
};

/** The tools that only tell something to the agent. Opening a page tells its owner something, so that is an effect. */
const reading = new Set([
  "get_iban",
  "get_balance",
  "get_most_recent_transactions",
  "get_scheduled_transactions",
  "read_file",
  "get_user_info",
  "get_channels",
  "read_channel_messages",
  "read_inbox",
  "get_users_in_channel",
]);

export const isEffect = ({ tool }) => !reading.has(tool);
