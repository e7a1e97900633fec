import { API_SETTINGS } from './api-settings.js';
import { EDGE_SETTINGS } from './edge-settings.js';
import { HOSTING_SETTINGS } from './hosting-settings.js';
import { STORAGE_SETTINGS } from './storage-settings.js';

/** All settings, in the order in which the documentation lists them. */
export const SETTINGS = { ...API_SETTINGS, ...EDGE_SETTINGS, ...STORAGE_SETTINGS, ...HOSTING_SETTINGS };

export type SettingName = keyof typeof SETTINGS;
export type Values = { [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['kind']['parse']> };
